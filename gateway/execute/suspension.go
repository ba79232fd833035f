package execute

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A suspension counts refused attempts at limits that the policy also forbids to exceed. After too many within one period of the limit,
// the agent is blocked until the operator unblocks it. UIM core 4.5.
type suspension struct {
	attempts *cache.Cache[[2]string, attempts] // by service and agent, and limit
}

type attempts struct {
	slot  int64
	count int64
}

// maxAttempts bounds how many agents and limits are counted; the least recently used are evicted first.
const maxAttempts = 100_000

func newSuspension() *suspension {
	return &suspension{cache.New(cache.Options[[2]string, attempts]{Max: maxAttempts})}
}

// refused counts one attempt and reports whether the agent was blocked for it.
func (s *suspension) refused(ctx context.Context, e *execution, full *store.LimitError, now time.Time) (bool, error) {
	most := e.service.SuspendAfter
	if most == 0 || !e.decision.ForbidsExceeding || full.Kind == limit.Ceiling {
		return false, nil
	}
	key := [2]string{e.service.ID + " " + string(e.claims.Principal()), full.ID}
	slot := periodNumber(full.Period, now)
	seen := s.attempts.Update(key, func(old attempts, found bool) attempts {
		if !found || old.slot != slot {
			return attempts{slot: slot, count: 1}
		}
		return attempts{slot: slot, count: old.count + 1}
	})
	if seen.count < most {
		return false, nil
	}
	err := e.service.Issuance.Revoke(ctx, pat.Revocation{
		Kind: pat.RevokedAgent, Subject: string(e.claims.Principal()), Reason: "went on calling over a limit that the policy forbids to exceed",
	})
	if err == nil { // after the operator unblocks the agent, its count starts anew
		s.attempts.Remove(key)
	}
	return err == nil, err
}

// periodNumber numbers whole periods: attempts are counted within one.
func periodNumber(p limit.Period, now time.Time) int64 {
	if s := p.Seconds(); s > 0 {
		return now.Unix() / s
	}
	return p.Slot(now)
}

// overLimit refuses a call because a limit is exhausted.
func (x *Executor) overLimit(ctx context.Context, e *execution, full *store.LimitError) error {
	e.exceeded = full.Period
	blocked, err := x.suspension.refused(ctx, e, full, x.now())
	if blocked {
		return reason.AgentBlocked.Refusal("Too many calls over a limit that the policy forbids to exceed.")
	}
	f := reason.RateLimitExceeded.Refusal("The limit of " + full.Rate.String() + " is used up.").After(full.RetryAfter)
	switch {
	case full.Kind == limit.Ceiling:
		f = reason.ServiceCeiling.Refusal("").After(full.RetryAfter)
	case full.Period == limit.Lifetime:
		f = reason.QuotaExceeded.Refusal("")
	}
	return f.With("limit", full.Rate.String()).Standings([]limit.Status{full.Status}).Because(errors.Join(full, err))
}
