package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
)

// troublemakers counts refused attempts at limits that the policy also forbids to exceed. Too many
// within one period of the limit, and the agent is blocked until the operator undoes it. UIM core 4.5.
type troublemakers struct {
	attempts *otter.Cache[attemptKey, *attempts]
	block    func(ctx context.Context, service, agentID, reason string) error
}

type attemptKey struct {
	service, agent, limit string
}

type attempts struct {
	slot  int64
	count int64
}

func newTroublemakers(block func(ctx context.Context, service, agentID, reason string) error) *troublemakers {
	return &troublemakers{block: block, attempts: otter.Must(&otter.Options[attemptKey, *attempts]{MaximumSize: maxAddresses})}
}

// refused counts one attempt and reports whether the agent was blocked for it.
func (t *troublemakers) refused(ctx context.Context, e *execution, full *store.LimitError, now time.Time) (bool, error) {
	most := e.service.suspendAfter
	if most == 0 || !e.decision.ForbidsExceeding || full.AgentID == "" {
		return false, nil
	}
	key := attemptKey{e.service.ID, e.claims.Subject, full.ID}
	slot := periodNumber(full.Period, now)
	seen, _ := t.attempts.Compute(key, func(old *attempts, found bool) (*attempts, otter.ComputeOp) {
		if !found || old.slot != slot {
			return &attempts{slot: slot, count: 1}, otter.WriteOp
		}
		return &attempts{slot: slot, count: old.count + 1}, otter.WriteOp
	})
	if seen.count < most {
		return false, nil
	}
	err := t.block(ctx, e.service.ID, e.claims.Subject, "went on calling over a limit that the policy forbids to exceed")
	if err == nil { // the operator who lets the agent in again lets it begin anew
		t.attempts.Invalidate(key)
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

// overLimit tells an agent that a limit is used up.
func (x *Executor) overLimit(ctx context.Context, e *execution, full *store.LimitError) error {
	x.metrics.rejected.WithLabelValues(string(full.Period)).Inc()
	blocked, err := x.trouble.refused(ctx, e, full, x.now())
	if blocked {
		return newFault("AGENT_BLOCKED", "Too many calls over a limit that the policy forbids to exceed.")
	}
	f := newFault("RATE_LIMIT_EXCEEDED", "The limit of "+full.Rate.String()+" is used up.").after(full.RetryAfter)
	switch {
	case full.AgentID == "":
		f = newFault("SERVICE_CEILING", "All agents together have used up what the service takes.").after(full.RetryAfter)
	case full.Period == limit.Lifetime:
		f = newFault("QUOTA_EXCEEDED", "All calls that were agreed are used up.")
	}
	return f.with("limit", full.Rate.String()).standing([]store.Standing{full.Standing}).because(errors.Join(full, err))
}
