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
	Unknown Outcome = "unknown"  // it cannot be determined whether the upstream executed the call
)

// An Execution is the record of one call that is charged or has an idempotency key.
type Execution struct {
	ID             string // UUIDv7, made by the gateway
	Service        string
	AgentID        pat.AgentID
	IdempotencyKey string // empty means none
	Fingerprint    string // digest of intent and parameters; compared when the key is used again
	Intent         string
	AgreementID    pat.AgreementID
	TokenID        pat.TokenID
	PolicyDigest   string
	Rule           string       // the rule of the candidate that was used
	Charge         money.Amount // zero means free
	State          State
	Outcome        Outcome // empty while held
	Answer         *Answer // nil until settled, without an idempotency key, or if it exceeds a limit of stored responses
	BeganAt        time.Time
	Deadline       time.Time // when the sweeper makes a held record unresolved
	SettledAt      time.Time // zero until it is captured or released
	UnresolvedAt   time.Time // when it became unresolved; zero if it never did
	ContextID      string    // the id of the conversation that the call belongs to, if its protocol has conversations; see CallFilter
	Evidence       *Evidence // the evidence of a charged call; nil if it is free, or if it began before evidence was stored
	// Entry is the newest ledger entry about the call. Only Settle sets it, and only if it made that entry. See package evidence.
	Entry []byte
}

// Evidence holds those members of a charge's ledger entries that are not fields of its Execution. An empty field means that the entries
// lack the member.
type Evidence struct {
	KeyID    string // thumbprint of the agent's key (RFC 7638)
	Proof    string // digest of the proof of key: see evidence.Digest
	Decision string // digest of the question that the policy decided
	// Text holds the documents that the digests cover. Begin stores it. It is nil in an Execution that was read from the store.
	Text *EvidenceText
}

// An EvidenceText holds the documents that the digests of an Evidence cover.
type EvidenceText struct {
	Proof string // as sent; empty if the call had none, or if it is not kept
	Asked []byte // the member "asked" of the audit record
}

// A CallScope restricts reads to the calls of one agent that the scope of its PAT permits: calls of Intents and of all intents in
// Namespaces. If both are empty, no calls are read.
type CallScope struct {
	Service    string
	AgentID    pat.AgentID
	Intents    []string // uids
	Namespaces []string
}

// A CallFilter restricts a listing to the calls of one agent that are part of a conversation.
type CallFilter struct {
	CallScope
	ContextID  string     // empty means all conversations
	Status     CallStatus // empty means any
	BeganAfter time.Time
	Since      time.Time // earliest time at which the status was reached; zero means any time
	After      CallCursor
	Limit      int // as in AgentFilter
}

// A CallStatus is the state of a call as its agent sees it. Once it is no longer CallRunning, it does not change, even if the operator
// resolves the charge later.
type CallStatus string

// The states of a call.
const (
	CallRunning CallStatus = "running"
	CallDone    CallStatus = "done"
	CallFailed  CallStatus = "failed" // failed, or of unknown outcome
)

// Status returns the state of the call as its agent sees it, and the time at which the call reached that state.
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

// A CallCursor is a position in a listing of calls: after the call with this ID, which reached its state at Since. The zero CallCursor is
// the beginning.
type CallCursor struct {
	Since time.Time
	ID    string
}

// Limits of stored responses, in bytes; see Answer.Size. A response that exceeds one of them is not stored. Its call is still not
// repeated under the same key, but the response is not available.
const (
	MaxAnswer         = 1 << 20  // maximum size of one stored response
	MaxAnswersOfAgent = 64 << 20 // maximum size of all stored responses of an agent
	MaxAnswers        = 1 << 30  // maximum size of all stored responses
)

// An Answer is the response to a call, which is an output or a refusal. It is stored so that it can be returned again under the
// idempotency key of the call.
type Answer struct {
	Output  []byte        // the output parameters as JSON; empty if the call was refused
	Reason  reason.Reason // the reason of the refusal; empty if the call succeeded
	Code    reason.Code   // the code of the refusal
	Message string        // the message of the refusal
	Details []byte        // the details of the refusal or of a forwarded response, as a JSON object; empty means none
}

// Size returns the size of an answer in bytes, as it counts towards MaxAnswer.
func (a *Answer) Size() int { return len(a.Output) + len(a.Message) + len(a.Details) }

// A Settlement ends an execution.
type Settlement struct {
	State   State   // Captured, Released or Unresolved
	Outcome Outcome // NotSent only with Released
	Answer  *Answer
	// Sent is the digest of the output as the agent receives it, and Form is the form of the output; see evidence.Entry. Both are empty if
	// there is no output.
	Sent, Form string
}
