package store

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Reservation requests one unit of one limit. An empty Principal names a counter that all agents of the service share.
type Reservation struct {
	Principal pat.Principal
	limit.Limit
}

// A Candidate is one permission that may permit the call. Begin uses the first whose limits and charge are all available.
type Candidate struct {
	Rule   string
	Limits []Reservation
	Charge money.Amount // zero: free; never negative
}

// A Nonce may be used once per service and key, while it is kept.
type Nonce struct {
	KeyID keys.ID
	ID    string
	Until time.Time // the earliest time when it may be deleted
}

// Billing bounds how much an agent may owe.
type Billing struct {
	// Prepaid means that the agent may owe nothing, and spends the top-ups of the operator.
	Prepaid bool
	// Credit is the most that an agent may owe in its currency.
	Credit money.Amount
	// Unapproved means that the agent may owe at most Newcomers, and that what it owes also counts towards one account that all
	// unapproved agents share, with the same Credit. That account fades: by Credit within PoolFades.
	Unapproved bool
	// Newcomers is the most that one unapproved agent may owe, and no more than Credit. Without a currency it is Credit.
	Newcomers money.Amount
}

// PoolFades is how long after the last charge what unapproved agents owe together counts.
const PoolFades = 24 * time.Hour

// A BeginRequest describes one call to begin.
type BeginRequest struct {
	// Execution is the call: ID (a UUIDv7; it may be empty if nothing is recorded), Service, AgentID, Intent and the ids of its
	// agreement, token and policy. The store sets Rule, Charge, State and the times.
	Execution  Execution
	Nonce      *Nonce
	Limits     []Reservation // taken for every candidate: the token's own limit, the service's ceiling
	Candidates []Candidate   // at least one, in order of preference
	Billing    Billing
	// Hold is how long the record stays held before the sweeper may make it unresolved: the upstream's timeout and 30 s.
	Hold time.Duration
	// KeyFor is how long the idempotency key, if there is one, is kept: 24 h.
	KeyFor time.Duration
}

// An Admission is what Begin took for a call.
type Admission struct {
	Execution Execution
	Recorded  bool          // an execution record exists, and must be settled
	Taken     []CounterSlot // one unit in each, to release if nothing was sent
	// Expires counts from the call of Begin: the call may not be sent later. 0: no such bound. See limit.MaxDispatch.
	Expires time.Duration
	// Standing has the state of the limit of each in Taken, in the same order; with Replay, the present state of the limits that the call
	// took when it was made.
	Standing []limit.Status
	// Replay is the record of an earlier execution under the same idempotency key that has ended; then nothing was taken.
	Replay *Execution
}

// Admit returns the Admission of a call at a moment under one of its candidates, without its limits: an engine adds what it took.
func (r *BeginRequest) Admit(candidate int, at time.Time) Admission {
	c, e := &r.Candidates[candidate], r.Execution
	e.Rule, e.Charge, e.State, e.Outcome, e.Answer = c.Rule, c.Charge, Held, "", nil
	e.BeganAt, e.Deadline, e.SettledAt = at, at.Add(r.Hold), time.Time{}
	return Admission{Execution: e, Recorded: c.Charge.Nano > 0 || e.IdempotencyKey != ""}
}

// A CounterSlot is one slot of the counter of one limit.
type CounterSlot struct {
	Principal pat.Principal
	LimitID   string
	Period    limit.Period
	Slot      int64
	// Restored is when the state was last set back to an earlier one; the zero time: never. Units that were counted before another such
	// time are not released, because the state may not include them.
	Restored time.Time
}
