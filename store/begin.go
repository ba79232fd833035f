package store

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Reservation requests units of one limit. An empty Principal names a counter that all agents of the service share.
type Reservation struct {
	Principal pat.Principal
	limit.Limit
	// Units is how many units of the limit the call takes; 0 means 1. When the charge is released, the units of a limit.Budget are given back.
	Units int64
	// Carried means that the call counts in the limit, but that the limit neither refuses the call nor bounds when the call may be sent. Such
	// a limit belongs to another plan, to which the agent may change.
	Carried bool
}

// A Candidate is one permission that may permit the call. Begin uses the first candidate whose limits and charge are all available.
type Candidate struct {
	Rule   string
	Limits []Reservation
	Charge money.Amount // zero means free; never negative
}

// A Nonce can be used only once for each service and key while it is stored.
type Nonce struct {
	KeyID keys.ID
	ID    string
	Until time.Time // the earliest time when it may be deleted
}

// Billing limits how much an agent may owe.
type Billing struct {
	// Prepaid means that the agent may not owe anything. It can spend only what was paid in for it.
	Prepaid bool
	// Credit is the largest amount that an agent may owe in its currency.
	Credit money.Amount
	// Unapproved means that the agent may owe at most Newcomers. Its debt also counts towards one account that all unapproved agents share and
	// that has the same Credit. The shared account decays by Credit within PoolFades.
	Unapproved bool
	// Newcomers is the largest amount that one unapproved agent may owe. It is at most Credit; without a currency, it is equal to Credit.
	Newcomers money.Amount
}

// AgentLimit returns the largest amount that one agent may owe in a currency.
func (b Billing) AgentLimit(currency string) money.Amount {
	most := b.CommonLimit(currency)
	if own := b.Newcomers; b.Unapproved && own.Currency != "" {
		most.Nano = min(most.Nano, Billing{Prepaid: b.Prepaid, Credit: own}.CommonLimit(currency).Nano)
	}
	return most
}

// CommonLimit returns the largest amount in a currency that one approved agent may owe, and that all unapproved agents together may owe.
func (b Billing) CommonLimit(currency string) money.Amount {
	if b.Prepaid || b.Credit.Currency != currency {
		return money.Amount{Currency: currency}
	}
	return money.Amount{Nano: max(0, b.Credit.Nano), Currency: currency}
}

// PoolFades is the time in which the shared account of unapproved agents decays by Credit. Once this time has passed without a further
// charge, no charge to the account counts any longer.
const PoolFades = 24 * time.Hour

// A BeginRequest describes one call to begin.
type BeginRequest struct {
	// Execution describes the call: ID (a UUIDv7; it may be empty if the call is not recorded), Service, AgentID, Intent and the ids of its
	// agreement, token and policy. The store sets Rule, Charge, State and the times.
	Execution  Execution
	Nonce      *Nonce
	Limits     []Reservation // taken for every candidate: the token's own limit, the service's ceiling
	Candidates []Candidate   // at least one, in order of preference
	Billing    Billing
	// Planned means that the agreement chooses a plan, which a later agreement can end. Begin then returns pat.ErrRevoked if the agreement of
	// Execution is not active, so that no call begins under a plan that has ended.
	Planned bool
	// BudgetNumber is for a charge under a consent with a budget. It is the number of the change that set this budget, or 0 if the person has
	// not changed the budget. Begin returns ErrBudgetChanged if the newest change has a different number, and pat.ErrRevoked if the agreement
	// of Execution is not active. nil: the call has no budget.
	BudgetNumber *int
	// Hold is how long the record stays held before the sweeper may make it unresolved: the timeout of the upstream plus 30 s.
	Hold time.Duration
	// KeyFor is how long the idempotency key, if there is one, is stored: 24 h.
	KeyFor time.Duration
}

// An Admission is the result of Begin: the units and the credit that Begin took for a call.
type Admission struct {
	Execution Execution
	Recorded  bool          // an execution record exists, and must be settled
	Taken     []CounterSlot // the units that were taken; they are released if nothing was sent
	// Expires is how long after the call to Begin the call may be sent; 0 means no limit. See limit.MaxDispatch.
	Expires time.Duration
	// Standing contains the state of the limit of each slot in Taken, in the same order. If Replay is set, it contains the current state of
	// the limits that the original call took.
	Standing []limit.Status
	// Replay is the record of an earlier, ended execution under the same idempotency key. If it is set, nothing was taken.
	Replay *Execution
}

// Admit returns the Admission of a call that begins at the given time under one of its candidates. It leaves Taken and Standing empty: the
// engine adds the units that it took.
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
	Units     int64 // that were taken; 0 means 1
	Carried   bool  // see Reservation
	// Restored is when the state was last restored from an earlier copy; the zero time means never. If the state is restored again after
	// units were counted, they are not released, because the restored state may not include them.
	Restored time.Time
}
