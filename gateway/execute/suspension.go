package execute

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// limitAttempts counts the calls that were refused because of a limit in one of its periods.
type limitAttempts struct {
	slot  int64
	count int64
}

// maxAttempts is the maximum number of pairs of agents and limits that are counted. The least recently used are evicted first.
const maxAttempts = 100_000

// suspended counts a call that was refused because of a limit, if the policy also prohibits exceedRateLimit for the intent. After too many
// such calls within one period of the limit, it blocks the agent until the operator unblocks it, and returns true. If the agent should be
// blocked but cannot be, it returns an error. See UIM core, section 4.5.
func (x *Executor) suspended(ctx context.Context, e *execution, full *store.LimitError) (bool, error) {
	most := e.service.SuspendAfter
	if most == 0 || !e.decision.ForbidsExceeding || full.Kind == limit.Ceiling || full.Kind == limit.Budget {
		return false, nil
	}
	key := [2]string{e.service.ID + " " + string(e.claims.Principal()), full.ID}
	slot := periodNumber(full.Period, x.cfg.Now())
	seen := x.beyond.Update(key, func(old limitAttempts, _ bool) limitAttempts {
		if old.slot != slot {
			old.count = 0
		}
		return limitAttempts{slot: slot, count: old.count + 1}
	})
	if seen.count < most {
		return false, nil
	}
	err := e.service.Issuance.Revoke(ctx, pat.Revocation{
		Kind: pat.RevokedAgent, Subject: string(e.claims.Principal()), Reason: "continued to call beyond a limit that the policy forbids exceeding",
	})
	if err == nil { // if the operator unblocks the agent, its count starts at zero
		x.beyond.Remove(key)
	}
	return err == nil, err
}

// periodNumber returns the number of the period in which now lies. Attempts are counted within one period.
func periodNumber(p limit.Period, now time.Time) int64 {
	if s := p.Seconds(); s > 0 {
		return now.Unix() / s
	}
	return p.Slot(now)
}

// overLimit returns the refusal of a call because of an exhausted limit.
func (x *Executor) overLimit(ctx context.Context, e *execution, full *store.LimitError) error {
	e.exceeded = full.Period
	if full.Kind == limit.Budget {
		return e.overBudget(full, x.cfg.Now())
	}
	if full.Restored {
		return x.heldByRestore(full)
	}
	blocked, err := x.suspended(ctx, e, full)
	if blocked {
		return reason.AgentBlocked.Refusal("The agent was blocked, because it made too many calls beyond a limit that the policy forbids exceeding.")
	}
	f := reason.RateLimitExceeded.Refusal("The limit of " + full.Rate.String() + " is exhausted.").After(full.Shown(full.RetryAfter))
	switch {
	case full.Kind == limit.Ceiling:
		f = reason.ServiceCeiling.Refusal("").After(full.Shown(full.RetryAfter))
	case full.Period == limit.Lifetime:
		f = reason.QuotaExceeded.Refusal("")
	}
	return f.With("limit", full.Rate.String()).Standings([]limit.Status{full.Status}).Because(errors.Join(full, err))
}

// heldByRestore returns the refusal of a call because of a limit that is held back after a restore. The agent may not have exceeded the
// limit, so the call does not count towards a suspension.
func (x *Executor) heldByRestore(full *store.LimitError) error {
	until := x.cfg.Now().Add(full.RetryAfter).UTC().Truncate(time.Second).Add(time.Second).Format(time.RFC3339)
	return reason.RestoredLimits.Refusal("The limit of "+full.Rate.String()+" is held back until "+until+
		", because the state of the service was restored from a backup.").After(full.RetryAfter).
		With("limit", full.Rate.String()).With("until", until).Standings([]limit.Status{full.Status}).Because(full)
}
