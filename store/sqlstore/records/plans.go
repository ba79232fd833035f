package records

import (
	"context"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// ofAgent is the condition that an agreement of an agent is active and has a plan. Its arguments are the service and the agent.
const ofAgent = "service = ? AND agent_id = ? AND state = 'active' AND plan <> ''"

// endOtherPlans ends active agreements of an agent whose plan differs from that of the agreement of n, if the agreement of n is active and
// has a plan. It ends those that have taken effect, unless the agreement of n was made in advance, and those that take effect on its date.
// The counters are those of the agent, so they continue.
func (s *Records) endOtherPlans(ctx context.Context, t *engine.Tx, n pat.NewAgreement) error {
	a := n.Agreement
	if a.Plan == "" || a.State != pat.AgreementActive {
		return nil
	}
	agent := recordOf(a.AgentID, a.Assurance)
	if err := s.replacePlans(ctx, t, a.Service, agent); err != nil {
		return err
	}
	date := dateOf(t, n)
	if date > 0 {
		if err := s.endPlans(ctx, t, a.Service, agent, a.Plan, date); err != nil || n.OnDate {
			return err
		}
	}
	return s.endPlans(ctx, t, a.Service, agent, a.Plan, 0)
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
func (s *Records) endPlans(ctx context.Context, t *engine.Tx, service string, agent pat.AgentID, plan string, effective int64) error {
	const others = ofAgent + " AND plan <> ? AND effective_at = ?"
	args := []any{service, agent, plan, effective}
	var earlier []string
	err := t.Rows(ctx, "SELECT DISTINCT plan FROM agreements WHERE "+others+" ORDER BY plan", args, func(scan engine.Scan) error {
		var plan string
		err := scan(&plan)
		earlier = append(earlier, plan)
		return err
	})
	if err != nil || len(earlier) == 0 {
		return err
	}
	if _, err := t.Exec(ctx, "UPDATE agreements SET state = 'revoked' WHERE "+others, args...); err != nil { // before NextChange: see Revoke
		return err
	}
	r := pat.Revocation{
		Service: service, Kind: pat.RevokedPlan, Subject: string(agent), At: t.Now(), Until: t.Now().Add(pat.MaxTTL + s.tokensKept),
		Reason: "the agent changed its plan",
	}
	if err := s.coverIssued(ctx, t, &r); err != nil {
		return err
	}
	seq, err := t.NextChange(ctx)
	if err != nil {
		return err
	}
	date := engine.FromNanos(effective)
	if !date.IsZero() { // the PATs are valid from the date on
		r.Until = date.Add(pat.MaxTTL + s.tokensKept)
	}
	for _, plan := range earlier {
		r.Subject = pat.PlanSubject(agent, plan, date)
		if err := s.addRevocation(ctx, t, r, seq); err != nil {
			return err
		}
	}
	return nil
}

// replacePlans ends agreements of an agent if an agreement with another plan, made in advance, has taken effect since the last call.
func (s *Records) replacePlans(ctx context.Context, t *engine.Tx, service string, agent pat.AgentID) error {
	var one int
	found, err := t.Row(ctx, "SELECT 1 FROM agreements WHERE service = ? AND agent_id = ? AND state = 'active' AND effective_at > 0 "+
		"AND effective_at <= ? LIMIT 1", []any{service, agent, engine.Nanos(t.Now())}, &one)
	if err != nil || !found {
		return err
	}
	return s.keepPresentPlan(ctx, t, service, agent)
}

// keepPresentPlan ends the active agreements of an agent that have taken effect and have a plan other than the one that took effect last.
func (s *Records) keepPresentPlan(ctx context.Context, t *engine.Tx, service string, agent pat.AgentID) error {
	const effective = ofAgent + " AND effective_at <= ?"
	args := []any{service, agent, engine.Nanos(t.Now())}
	var plan string
	found, err := t.Row(ctx, "SELECT plan FROM agreements WHERE "+effective+" ORDER BY CASE WHEN effective_at > created_at THEN effective_at "+
		"ELSE created_at END DESC, created_at DESC, id DESC LIMIT 1", args, &plan)
	if err != nil || !found {
		return err
	}
	if _, err := t.Exec(ctx, "UPDATE agreements SET effective_at = 0 WHERE "+effective+" AND effective_at > 0", args...); err != nil {
		return err
	}
	return s.endPlans(ctx, t, service, agent, plan, 0)
}

// keepNewestPlans ends active agreements of an agent. Of the agreements that have taken effect, it keeps those with the plan that took
// effect last. Of the agreements that take effect on the same future date, it keeps those with the plan of the newest.
func (s *Records) keepNewestPlans(ctx context.Context, t *engine.Tx, service string, agent pat.AgentID) error {
	if err := s.keepPresentPlan(ctx, t, service, agent); err != nil {
		return err
	}
	newest := map[int64]string{} // by date
	err := t.Rows(ctx, "SELECT effective_at, plan FROM agreements WHERE "+ofAgent+" AND effective_at > 0 ORDER BY created_at, id",
		[]any{service, agent}, func(scan engine.Scan) error {
			var date int64
			var plan string
			err := scan(&date, &plan)
			newest[date] = plan
			return err
		})
	if err != nil {
		return err
	}
	for date, plan := range newest {
		if err := s.endPlans(ctx, t, service, agent, plan, date); err != nil {
			return err
		}
	}
	return nil
}

// replacedAtOnce is the maximum number of agents that ReplacePlans reads at once.
const replacedAtOnce = 100

// ReplacePlans ends the agreements that an agreement with another plan, made in advance, has replaced by now. No call begins and no PAT is
// issued under them even before ReplacePlans. It returns the number of agents whose plan was replaced.
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
				if _, _, err := s.agent(ctx, t, d.service, d.agent); err != nil {
					return err
				}
				return s.replacePlans(ctx, t, d.service, d.agent)
			})
			if err != nil {
				return n, err
			}
			n++
		}
	}
}
