package store

import (
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// A State is the state of an execution.
type State string

// The states of an execution. A charge that is held or unresolved counts as owed until it is captured or released.
const (
	Held       State = "held"
	Captured   State = "captured"
	Released   State = "released"
	Unresolved State = "unresolved"
)

// An Outcome is the result of the upstream call, as far as the gateway can determine it.
type Outcome string

// The outcomes.
const (
	NotSent Outcome = "not_sent" // not connected, or no byte written
	Failed  Outcome = "failed"   // a complete answer that is not 2xx
	Done    Outcome = "done"     // a complete 2xx answer
	Unknown Outcome = "unknown"  // anything between
)

// An Execution is the record of one call that charges or has an idempotency key.
type Execution struct {
	ID             string // UUIDv7, made by the gateway
	Service        string
	AgentID        pat.AgentID
	IdempotencyKey string // empty: none
	Fingerprint    string // of intent and parameters; compared when the key is used again
	Intent         string
	AgreementID    pat.AgreementID
	TokenID        pat.TokenID
	PolicyDigest   string
	Rule           string       // of the candidate that was used
	Charge         money.Amount // zero: free
	State          State
	Outcome        Outcome // empty while held
	Answer         *Answer // nil until settled, without an idempotency key, or beyond a bound of answers
	BegunAt        time.Time
	Deadline       time.Time // from then on the sweeper makes a held record unresolved
	SettledAt      time.Time // zero until it is captured or released
}

// Bounds of stored answers, in bytes; see Answer.Size. An answer beyond one of them is not stored: the call is not made
// again under its key, but what it returned is not known any more.
const (
	MaxAnswer         = 1 << 20
	MaxAnswersOfAgent = 64 << 20 // of all answers of an agent that are kept
	MaxAnswers        = 1 << 30  // of all answers that are kept
)

// An Answer is the result of a call, stored to be returned again under its idempotency key: an output, or a refusal.
type Answer struct {
	Output  []byte        // JSON: the output parameters; empty where the call was refused
	Reason  reason.Reason // of the refusal; empty: the call succeeded
	Code    reason.Code   // of the refusal
	Message string        // of the refusal
	Details []byte        // of the refusal, or of what was passed on: a JSON object; empty: none
}

// Size returns how many bytes of MaxAnswer an answer uses.
func (a *Answer) Size() int { return len(a.Output) + len(a.Message) + len(a.Details) }

// A Settlement ends an execution.
type Settlement struct {
	State   State   // Captured, Released or Unresolved
	Outcome Outcome // NotSent only with Released
	Answer  *Answer
}
