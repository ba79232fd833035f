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
	Failed  Outcome = "failed"   // a complete response that is not 2xx
	Done    Outcome = "done"     // a complete 2xx response
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
	Answer         *Answer // nil until settled, without an idempotency key, or beyond a bound of stored responses
	BeganAt        time.Time
	Deadline       time.Time // from then on the sweeper makes a held record unresolved
	SettledAt      time.Time // zero until it is captured or released
	UnresolvedAt   time.Time // when it became unresolved; zero: it never was
	ContextID      string    // of the conversation that the call belongs to, if its protocol has conversations; see CallFilter
}

// A CallScope restricts reads of calls to those of one agent that the scope of its PAT permits: calls of Intents and of every intent of
// Namespaces. If both are empty, nothing is read.
type CallScope struct {
	Service    string
	AgentID    pat.AgentID
	Intents    []string // uids
	Namespaces []string
}

// A CallFilter restricts a listing of the calls of one agent that are part of a conversation.
type CallFilter struct {
	CallScope
	ContextID  string     // empty: of all conversations
	Status     CallStatus // empty: any
	BeganAfter time.Time
	Since      time.Time // when the status was first reached; zero: any time
	After      CallCursor
	Limit      int // as in AgentFilter
}

// A CallStatus is the state of a call for its agent: once it is not CallRunning it does not change any more, whatever is decided about
// the charge.
type CallStatus string

// The states of a call.
const (
	CallRunning CallStatus = "running"
	CallDone    CallStatus = "done"
	CallFailed  CallStatus = "failed" // or of unknown outcome
)

// Status returns the state of the call for its agent, and since when it is in that state.
func (e *Execution) Status() (CallStatus, time.Time) {
	switch {
	case !e.UnresolvedAt.IsZero():
		return CallFailed, e.UnresolvedAt
	case e.State == Held:
		return CallRunning, e.BeganAt
	case e.State == Captured:
		return CallDone, e.SettledAt
	default:
		return CallFailed, e.SettledAt
	}
}

// A CallCursor is a position in a listing of calls: after the one with this ID, in its state since Since. The zero CallCursor is the
// beginning.
type CallCursor struct {
	Since time.Time
	ID    string
}

// Bounds of stored responses, in bytes; see Answer.Size. A response beyond one of them is not stored: the call is not made again under
// its key, but its response is no longer available.
const (
	MaxAnswer         = 1 << 20
	MaxAnswersOfAgent = 64 << 20 // of all stored responses of an agent
	MaxAnswers        = 1 << 30  // of all stored responses
)

// An Answer is the response to a call, stored to be returned again under its idempotency key: an output, or a refusal.
type Answer struct {
	Output  []byte        // JSON: the output parameters; empty if the call was refused
	Reason  reason.Reason // of the refusal; empty: the call succeeded
	Code    reason.Code   // of the refusal
	Message string        // of the refusal
	Details []byte        // of the refusal, or of a passed-on response: a JSON object; empty: none
}

// Size returns how many bytes of MaxAnswer an answer uses.
func (a *Answer) Size() int { return len(a.Output) + len(a.Message) + len(a.Details) }

// A Settlement ends an execution.
type Settlement struct {
	State   State   // Captured, Released or Unresolved
	Outcome Outcome // NotSent only with Released
	Answer  *Answer
}
