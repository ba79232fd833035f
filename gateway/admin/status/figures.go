package status

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A NewcomersPool is the credit that all unapproved agents of a service share.
type NewcomersPool struct {
	Credit string        `json:"credit"` // with its currency, as in all fields below
	Left   string        `json:"left"`   // the remaining credit
	Owed   string        `json:"owed"`   // the debt of all of them; a part of it may no longer count towards the credit
	Users  []PoolAccount `json:"users"`  // the agents with the largest debts, at most MostPoolUsers
}

// Exhausted reports whether nothing is left of the credit.
func (p *NewcomersPool) Exhausted() bool {
	left, err := money.Parse(p.Left)
	return err == nil && left.IsZero()
}

// MostPoolUsers is the maximum number of agents in a NewcomersPool.
const MostPoolUsers = 5

// A PoolAccount is an unapproved agent with a debt.
type PoolAccount struct {
	AgentID pat.AgentID `json:"agent_id"`
	Owed    string      `json:"owed"`
}

// HeldLimits are the limits that are held back because of a restore or a step of the clock.
type HeldLimits struct {
	Restored *RestoredLimits `json:"restored,omitempty"`
	Clock    *SteppedLimits  `json:"clock,omitempty"`
}

// RestoredLimits are the limits that are held back after a restore, for agents that the restored state contains.
type RestoredLimits struct {
	At     time.Time         `json:"at"`
	Limits store.RestoreMode `json:"limits"`
	// Allowance is the percentage of the limits per month and year that counts as used, until the month or year ends.
	Allowance int64         `json:"allowance,omitempty"`
	Periods   []LimitPeriod `json:"periods"` // still held back, the shortest first
}

// SteppedLimits are the limits that are stricter for all agents after the clock of the database server was set.
type SteppedLimits struct {
	At      time.Time     `json:"at"`
	By      string        `json:"by"` // such as -2m0s
	Periods []LimitPeriod `json:"periods"`
}

// A LimitPeriod is the period of limits that are held back until a time.
type LimitPeriod struct {
	Period limit.Period `json:"period"`
	Until  time.Time    `json:"until"`
}

// heldLimits returns nil if no limits are held back.
func heldLimits(held store.HeldLimits) *HeldLimits {
	periods := func(list []store.HeldPeriod) []LimitPeriod {
		out := make([]LimitPeriod, 0, len(list))
		for _, p := range list {
			out = append(out, LimitPeriod{p.Period, p.Until.UTC()})
		}
		return out
	}
	var out HeldLimits
	if r := held.Restored; len(r.Periods) > 0 {
		out.Restored = &RestoredLimits{r.At.UTC(), held.Limits.Mode, held.Limits.Allowance, periods(r.Periods)}
	}
	if s := held.Stepped; len(s.Periods) > 0 {
		out.Clock = &SteppedLimits{s.At.UTC(), held.By.String(), periods(s.Periods)}
	}
	if out.Restored == nil && out.Clock == nil {
		return nil
	}
	return &out
}

// readBacklog reads from the store the numbers of records that wait for the operator of a service.
func (o *Operations) readBacklog(ctx context.Context, s *service.Service, out *ServiceStatus) {
	backlog, err := o.Store.Backlog(ctx, s.ID)
	if err != nil {
		o.unread(s, out, err, "waiting_agents", "unresolved_charges")
		return
	}
	out.WaitingAgents, out.Unresolved, out.Unclaimed = &backlog.Waiting, &backlog.Unresolved, backlog.Unclaimed
}

// readHolders reads from the store which reserved agent ids belong to other keys.
func (o *Operations) readHolders(ctx context.Context, s *service.Service, out *ServiceStatus) {
	held, err := HeldByOthers(ctx, o.Store, s.Definition)
	if out.HeldByOthers = held; err != nil {
		o.unread(s, out, err, "held_by_others")
	}
}

// readPool reads from the store the common credit of the unapproved agents of a service.
func (o *Operations) readPool(ctx context.Context, s *service.Service, out *ServiceStatus) {
	credit := s.Credit.Credit
	if !s.OpenAdmission || credit.IsZero() || s.Credit.Prepaid {
		return
	}
	pool, err := o.Store.Pool(ctx, s.ID, credit, MostPoolUsers)
	if err != nil {
		o.unread(s, out, err, "newcomers_pool")
		return
	}
	left := money.Amount{Nano: max(0, credit.Nano-pool.Counted.Nano), Currency: credit.Currency}
	out.Newcomers = &NewcomersPool{credit.String(), left.String(), pool.Owed.String(), make([]PoolAccount, 0, len(pool.Users))}
	for _, u := range pool.Users {
		out.Newcomers.Users = append(out.Newcomers.Users, PoolAccount{u.AgentID, u.Owed.String()})
	}
}

// unread records that figures of a service could not be read from the store.
func (o *Operations) unread(s *service.Service, out *ServiceStatus, err error, names ...string) {
	out.Unread = append(out.Unread, names...)
	o.Log.Warn("figures of the status cannot be read", zap.String("service", s.ID), zap.Strings("figures", names),
		zap.Error(wire.Loggable(err)))
}
