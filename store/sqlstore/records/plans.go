package records

import (
	"context"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// otherPlans is the condition that an agreement of an agent is active and has another plan. Its arguments are the service, the agent and the
// plan.
const otherPlans = "service = ? AND agent_id = ? AND state = 'active' AND plan <> '' AND plan <> ?"

// endOtherPlans ends the active agreements of an agent that have a plan other than a, if a is active and has a plan. So an agent has at most
// one plan. What the agent has used counts on, because counters belong to the agent.
func (s *Records) endOtherPlans(ctx context.Context, t *engine.Tx, a pat.Agreement) error {
	if a.Plan == "" || a.State != pat.AgreementActive {
		return nil
	}
	args := []any{a.Service, recordOf(a.AgentID, a.Assurance), a.Plan}
	var usable []string // agreements with PATs that have not expired
	err := t.Rows(ctx, "SELECT id FROM agreements WHERE "+otherPlans+" AND EXISTS (SELECT 1 FROM tokens k WHERE k.service = agreements.service "+
		"AND k.agreement_id = agreements.id AND k.expires_at > ?) ORDER BY id", append(args, engine.Nanos(t.Now())),
		func(scan engine.Scan) error {
			var id string
			err := scan(&id)
			usable = append(usable, id)
			return err
		})
	if err != nil {
		return err
	}
	if _, err := t.Exec(ctx, "UPDATE agreements SET state = 'revoked' WHERE "+otherPlans, args...); err != nil {
		return err
	}
	for _, id := range usable {
		seq, err := t.NextChange(ctx)
		if err != nil {
			return err
		}
		r := pat.Revocation{
			Service: a.Service, Kind: pat.RevokedAgreement, Subject: id, At: t.Now(), Until: t.Now().Add(pat.MaxTTL + s.tokensKept),
			Reason: "the agent changed its plan",
		}
		if err := s.addRevocation(ctx, t, r, seq); err != nil {
			return err
		}
	}
	return nil
}

// keepNewestPlan ends the active agreements of an agent that have a plan other than the newest one with a plan.
func (s *Records) keepNewestPlan(ctx context.Context, t *engine.Tx, service string, agent pat.AgentID) error {
	newest := pat.Agreement{Service: service, AgentID: agent, Assurance: pat.Fresh, State: pat.AgreementActive}
	found, err := t.Row(ctx, "SELECT plan FROM agreements WHERE service = ? AND agent_id = ? AND state = 'active' AND plan <> '' "+
		"ORDER BY created_at DESC, id DESC LIMIT 1", []any{service, agent}, &newest.Plan)
	if err != nil || !found {
		return err
	}
	return s.endOtherPlans(ctx, t, newest)
}
