package records

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// ofAgent is the condition that an agreement of an agent is active and has a plan. Its arguments are the service and the agent.
const ofAgent = "service = ? AND agent_id = ? AND state = 'active' AND plan <> ''"

// endOtherPlans ends active agreements of an agent whose plan differs from that of the agreement of n, if the agreement of n is active and
// has a plan. It ends those that take effect on the same date as the agreement of n and, unless the agreement of n was made in advance,
// those that have taken effect. The counters are those of the agent, so they continue.
func (s *Records) endOtherPlans(ctx context.Context, t *engine.Tx, n pat.NewAgreement) {
	a := n.Agreement
	if a.Plan == "" || a.State != pat.AgreementActive {
		return
	}
	agent := recordOf(a.AgentID, a.Assurance)
	s.replacePlans(ctx, t, a.Service, agent)
	date := dateOf(t, n)
	if date > 0 {
		s.endPlans(ctx, t, a.Service, agent, a.Plan, date)
	}
	if date == 0 || !n.OnDate {
		s.endPlans(ctx, t, a.Service, agent, a.Plan, 0)
	}
}

// dateOf returns when the policy of a new agreement takes effect, or 0 if it is in force.
func dateOf(t *engine.Tx, n pat.NewAgreement) int64 {
	if !n.PolicyFrom.After(t.Now()) {
		return 0
	}
	return engine.Nanos(n.PolicyFrom)
}

// endPlans ends the active agreements of an agent that have a plan other than the given one, and take effect at the given time. It writes
// one revocation for each earlier plan, because an agent can have thousands of agreements.
func (s *Records) endPlans(ctx context.Context, t *engine.Tx, service string, agent pat.AgentID, plan string, effective int64) {
	const others = ofAgent + " AND plan <> ? AND effective_at = ?"
	args := []any{service, agent, plan, effective}
	earlier := slices.Collect(engine.Values[string](ctx, t, "SELECT DISTINCT plan FROM agreements WHERE "+others+" ORDER BY plan", args...))
	if len(earlier) == 0 {
		return
	}
	t.Run(ctx, "UPDATE agreements SET state = 'revoked' WHERE "+others, args...) // before NextChange: see Revoke
	r := pat.Revocation{
		Service: service, Kind: pat.RevokedPlan, Subject: string(agent), At: t.Now(), Until: t.Now().Add(pat.MaxTTL + s.tokensKept),
		Reason: "the agent changed its plan",
	}
	s.coverIssued(ctx, t, &r)
	seq := t.NextChange(ctx)
	date := engine.FromNanos(effective)
	if !date.IsZero() { // the PATs are valid from the date on
		r.Until = date.Add(pat.MaxTTL + s.tokensKept)
	}
	for _, plan := range earlier {
		r.Subject = pat.PlanSubject(agent, plan, date)
		s.addRevocation(ctx, t, r, seq)
	}
}

// replacePlans ends agreements of an agent if an agreement with another plan, made in advance, has taken effect since the last call.
func (s *Records) replacePlans(ctx context.Context, t *engine.Tx, service string, agent pat.AgentID) {
	if t.Find(ctx, "SELECT 1 FROM agreements WHERE service = ? AND agent_id = ? AND state = 'active' AND effective_at > 0 "+
		"AND effective_at <= ? LIMIT 1", []any{service, agent, engine.Nanos(t.Now())}) {
		s.keepPresentPlan(ctx, t, service, agent)
	}
}

// keepPresentPlan ends the active agreements of an agent that have taken effect and have a plan other than the one that took effect last.
func (s *Records) keepPresentPlan(ctx context.Context, t *engine.Tx, service string, agent pat.AgentID) {
	const effective = ofAgent + " AND effective_at <= ?"
	args := []any{service, agent, engine.Nanos(t.Now())}
	var plan string
	if t.Find(ctx, "SELECT plan FROM agreements WHERE "+effective+" ORDER BY CASE WHEN effective_at > created_at THEN effective_at "+
		"ELSE created_at END DESC, created_at DESC, id DESC LIMIT 1", args, &plan) {
		t.Run(ctx, "UPDATE agreements SET effective_at = 0 WHERE "+effective+" AND effective_at > 0", args...)
		s.endPlans(ctx, t, service, agent, plan, 0)
	}
}

// keepNewestPlans ends active agreements of an agent. Of the agreements that have taken effect, it keeps those with the plan that took
// effect last. Of the agreements that take effect on the same future date, it keeps those with the plan of the newest.
func (s *Records) keepNewestPlans(ctx context.Context, t *engine.Tx, service string, agent pat.AgentID) {
	s.keepPresentPlan(ctx, t, service, agent)
	newest := map[int64]string{} // by date
	for row := range t.Query(ctx, "SELECT effective_at, plan FROM agreements WHERE "+ofAgent+" AND effective_at > 0 ORDER BY created_at, id",
		service, agent) {
		var date int64
		var plan string
		row(&date, &plan)
		newest[date] = plan
	}
	for date, plan := range newest {
		s.endPlans(ctx, t, service, agent, plan, date)
	}
}

// replacedAtOnce is the maximum number of agents that ReplacePlans reads at once.
const replacedAtOnce = 100

// ReplacePlans ends the agreements that an agreement with another plan, made in advance, has replaced by now. Even before it runs, no call
// begins and no PAT is issued under them. It returns the number of agents whose plan was replaced.
func (s *Records) ReplacePlans(ctx context.Context) (int, error) {
	type due struct {
		service string
		agent   pat.AgentID
	}
	for n := 0; ; {
		list, err := engine.All(ctx, s.db, "SELECT DISTINCT service, agent_id FROM agreements WHERE state = 'active' AND effective_at > 0 "+
			"AND effective_at <= ? ORDER BY service, agent_id LIMIT ?", []any{engine.Nanos(s.db.Now()), replacedAtOnce},
			func(scan engine.Scan) (d due, err error) { return d, scan(&d.service, &d.agent) })
		if err != nil || len(list) == 0 {
			return n, err
		}
		for _, d := range list {
			err := s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
				s.agent(ctx, t, d.service, d.agent)
				s.replacePlans(ctx, t, d.service, d.agent)
				return nil
			})
			if err != nil {
				return n, err
			}
			n++
		}
	}
}
