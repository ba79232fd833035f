// Package store says what outlives a request: execution records, limits, charges and nonces. The
// records of agreements and tokens belong to package pat; an engine (store/sqlstore) keeps both.
//
// Promises every engine keeps, also when it is killed at any moment:
//   - Begin takes the nonce, the idempotency record, every limit and the charge, or none of them.
//   - What Begin took is durable before it returns, and so is what Settle wrote.
//   - An execution moves held → captured | released | unresolved and unresolved → captured | released,
//     each move conditional on the state before, so that exactly one of two settlers wins.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// A State is where an execution stands.
type State string

// The states of an execution.
const (
	Held       State = "held"
	Captured   State = "captured"
	Released   State = "released"
	Unresolved State = "unresolved"
)

// An Outcome is what is known of the upstream call.
type Outcome string

// The outcomes.
const (
	NotSent Outcome = "not_sent" // not connected, or no byte written
	Failed  Outcome = "failed"   // a complete answer that is not 2xx
	Done    Outcome = "done"     // a complete 2xx answer
	Unknown Outcome = "unknown"  // anything between
)

// An Execution is the record of one call that charges or carries an idempotency key.
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
	Rule           string       // of the candidate that won
	Charge         money.Amount // zero: free
	State          State
	Outcome        Outcome // empty while held
	Answer         *Answer // nil until settled, or when larger than MaxAnswer
	BegunAt        time.Time
	Deadline       time.Time // store clock; then the sweeper makes a held record unresolved
	SettledAt      time.Time
}

// MaxAnswer bounds a stored answer in bytes.
const MaxAnswer = 1 << 20

// An Answer is what a call returned, stored to be returned again under its idempotency key: an output, or a refusal.
type Answer struct {
	Output  []byte        // JSON: the output parameters; empty where the call was refused
	Reason  reason.Reason // of the refusal; empty: the call succeeded
	Code    reason.Code   // of the refusal
	Message string        // of the refusal
	Details []byte        // of the refusal: a JSON object; empty: none
}

// Size is how many bytes of MaxAnswer an answer takes.
func (a *Answer) Size() int { return len(a.Output) + len(a.Message) + len(a.Details) }

// A Reservation is one unit of one limit. An empty Principal is a counter that all agents of the service share.
type Reservation struct {
	Principal pat.Principal
	limit.Limit
}

// A Candidate is one permission under which the call may be made; the first whose limits and charge
// can all be had wins.
type Candidate struct {
	Rule   string
	Limits []Reservation
	Charge money.Amount
}

// A Nonce is used once per service and key until it is forgotten.
type Nonce struct {
	KeyID pat.KeyID
	ID    string
	Until time.Time
}

// Billing says what an agent may owe. Credit applies per agent and currency; with Prepaid an agent
// owes nothing and spends what the operator topped up. Where Unapproved is set the agent counts towards one
// further account, shared by all unapproved agents, with the same Credit.
type Billing struct {
	Prepaid    bool
	Credit     money.Amount
	Unapproved bool
}

// A BeginRequest asks to make one call.
type BeginRequest struct {
	Execution  Execution // ID, Service, AgentID, Intent, … ; Rule, Charge, State and times are the store's
	Nonce      *Nonce
	Limits     []Reservation // wanted whichever candidate wins (the token's own limit, a service ceiling)
	Candidates []Candidate   // at least one
	Billing    Billing
	Hold       time.Duration // until the sweeper may call the record unresolved: upstream timeout + 30 s
	KeyFor     time.Duration // how long the idempotency key, if there is one, is remembered: 24 h
}

// Begun is what Begin took.
type Begun struct {
	Execution Execution
	Recorded  bool          // an execution record exists, and must be settled
	Took      []TakenSlot   // the units reserved, to be given back if nothing was sent
	Expires   time.Duration // from when Begin was called; after it the call may no longer be sent; 0: no such end
	Standing  []Standing
	// Replay: an earlier execution under the same idempotency key has ended, with this record; nothing was taken.
	Replay *Execution
}

// A TakenSlot is one unit in one slot of one counter.
type TakenSlot struct {
	Principal pat.Principal
	LimitID   string
	Period    limit.Period
	Slot      int64
}

// Standing is how one limit stands after the call was admitted (or refused).
type Standing = limit.Standing

// Errors of Begin and Settle.
var (
	// ErrUnavailable means the store did not answer in time or at all: deny.
	ErrUnavailable = errors.New("the store is not available")
	// ErrNonceUsed means the proof was seen before.
	ErrNonceUsed = errors.New("the nonce was used before")
	// ErrKeyReused means the idempotency key came with another request.
	ErrKeyReused = errors.New("the idempotency key belongs to another request")
	// ErrInProgress means the call under this idempotency key is still running.
	ErrInProgress = errors.New("the call under this idempotency key is still running")
	// ErrOutcomeUnknown means nobody knows how the call under this idempotency key ended.
	ErrOutcomeUnknown = errors.New("the outcome of the call under this idempotency key is not known")
	// ErrCredit means the charge is more than the agent may owe or has.
	ErrCredit = errors.New("the charge exceeds the agent's credit")
	// ErrSettled means another settler won.
	ErrSettled = errors.New("the execution is settled already")
	// ErrReferenceUsed means the reference of a top-up belongs to another top-up.
	ErrReferenceUsed = errors.New("the reference belongs to another top-up")
	// ErrNotFound means no such record.
	ErrNotFound = errors.New("no such record")
)

// A LimitError refuses a call: a limit is used up.
type LimitError struct {
	Standing
	Principal  pat.Principal // empty: a ceiling shared by all agents
	RetryAfter time.Duration // 0 for a lifetime limit
}

func (e *LimitError) Error() string { return fmt.Sprintf("limit %s of %s is used up", e.ID, e.Rate) }

// A Settlement ends an execution.
type Settlement struct {
	State   State // Captured, Released or Unresolved
	Outcome Outcome
	Answer  *Answer
}

// Account is how one agent stands in one currency.
type Account struct {
	AgentID  pat.AgentID
	Currency string
	ToppedUp money.Amount
	Held     money.Amount // held and unresolved
	Captured money.Amount
}

// An Entry is one line of the ledger: a change of state of an execution with a charge, or a top-up.
// The ledger is append-only.
type Entry struct {
	Seq         int64
	At          time.Time
	Service     string
	AgentID     pat.AgentID
	ExecutionID string
	Intent      string
	Rule        string
	Amount      money.Amount
	From, To    State  // From is empty when the charge was first held; both are empty for a top-up
	By          string // agent, sweeper, operator
	Reference   string // of a top-up, if the operator gave it one
}

// A TopUp changes what an agent has paid in. Where Reverse is set the amount is taken back: the entry's amount is
// below zero, and the agent may owe afterwards what it had spent of it.
type TopUp struct {
	Service string
	AgentID pat.AgentID
	Amount  money.Amount // above zero
	Reverse bool
	// Reference is the operator's word for this change, such as the number of a payment; empty: none. A service's
	// ledger takes each reference once, for as long as the entry is kept.
	Reference string
}

// Filter narrows a listing; empty fields do not. After is the ID (or Seq) of the last row seen, Limit at most 1000.
type Filter struct {
	Service string
	AgentID pat.AgentID
	State   State
	After   string
	Limit   int
}

// Executions is the part of an engine that the execute path uses.
type Executions interface {
	// Begin: see BeginRequest. Errors: *LimitError (of the last candidate refused), ErrCredit, ErrNonceUsed,
	// ErrKeyReused, ErrInProgress, ErrOutcomeUnknown, ErrUnavailable. On any error nothing was taken.
	// A record is written where the winner charges or an idempotency key was sent.
	Begin(ctx context.Context, r BeginRequest) (Begun, error)
	// Settle moves the record (if any) of b and, where the outcome is NotSent, gives back the units of limits
	// that still count, and forgets the idempotency key, so that the agent may try again.
	// ErrSettled if the record has left the states it may be settled from.
	Settle(ctx context.Context, b Begun, s Settlement) (Execution, error)
}

// Operations is the part of an engine that operators and background work use.
type Operations interface {
	Listings
	Statements
	// Resolve settles an unresolved execution by the operator's word: captured says that the call was done, though
	// its answer is lost; released lets the idempotency key be used anew.
	Resolve(ctx context.Context, service, id string, to State) (Execution, error)
	// Execution returns one, or ErrNotFound.
	Execution(ctx context.Context, service, id string) (Execution, error)
	// Executions lists records, newest first.
	Executions(ctx context.Context, f Filter) ([]Execution, error)
	// Ledger lists entries, newest first.
	Ledger(ctx context.Context, f Filter) ([]Entry, error)
	// Accounts lists how agents stand.
	Accounts(ctx context.Context, f Filter) ([]Account, error)
	// TopUp adds to an agent's balance, or takes back. Repeated: the same top-up was made under this reference before,
	// and nothing was done now. Errors: money.ErrAmount where the sum would leave its bounds, ErrReferenceUsed.
	TopUp(ctx context.Context, t TopUp) (repeated bool, err error)
	// Sweep makes held records past their deadline unresolved, and returns how many.
	Sweep(ctx context.Context) (int, error)
	// Purge forgets, in bounded steps, what no longer matters: nonces, idempotency keys, slots, tokens,
	// revocations, and agreements whose PATs never executed, 30 days old; and charges that ended longer ago than the
	// ledger is kept, whose sums are carried forward. It returns how many rows went.
	Purge(ctx context.Context) (int, error)
	// CheckBalance proves that the accounts are the sums over the ledger and what was carried forward, and that what
	// is held is what executions hold. The error wraps ErrUnbalanced and names an account. It reads all of the ledger.
	CheckBalance(ctx context.Context) error
	// MarkRestored is to be called once after the state was taken back to an earlier one, while no gateway uses it:
	// every PAT issued before has ended, signing keys too, and every window that began before counts as used up until
	// it is over. Lifetime counters keep what the restored state knows.
	MarkRestored(ctx context.Context) error
	// Ready reports whether the store can be written to, in bounded time.
	Ready(ctx context.Context) error
	Close() error
}
