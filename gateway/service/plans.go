package service

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
)

// Plans implements pat.Terms.
func (t *terms) Plans(digest string) []string {
	for _, version := range t.versions {
		if version.offer.Digest == digest {
			return version.Policy.Plans()
		}
	}
	return t.Policy.Plans() // an earlier policy: agreements to it hold for intents with the same clause
}

// offers reports whether the policy with this digest is in force or announced.
func (t *terms) offers(digest string) bool {
	return slices.ContainsFunc(t.versions, func(version *terms) bool { return version.offer.Digest == digest })
}

// plansWith returns the plans other than the agent's own that can permit an intent to an agent.
func (t *terms) plansWith(ctx context.Context, who applicant, uid string) []string {
	return slices.DeleteFunc(t.Policy.PlansOf(uid), func(plan string) bool {
		own := who.plan
		who.plan = plan
		terms, err := t.termsFor(ctx, who, uid)
		who.plan = own
		return plan == own || err != nil || !terms.Permitted
	})
}

// PlansWith returns the plans that can permit an intent to the agent of a PAT. It returns none if the plan of the PAT, or the policy
// without a plan, can permit the intent. own is the plan of the PAT; empty: none.
func (s *Service) PlansWith(ctx context.Context, c *pat.Claims, uid string) (plans []string, own string) {
	if len(s.Policy.PlansOf(uid)) == 0 {
		return nil, ""
	}
	who := applicant{agentID: c.Subject, keyID: c.KeyID, plan: s.PlanOf(c)}
	if terms, err := s.terms.termsFor(ctx, who, uid); err != nil || terms.Permitted {
		return nil, who.plan
	}
	return s.terms.plansWith(ctx, who, uid), who.plan
}

// PlanOf returns the plan of a PAT, or the empty string if the PAT has none or the policy does not have that plan.
func (d *Definition) PlanOf(c *pat.Claims) string {
	if plan := c.Declared.Plan(); plan != "" && slices.Contains(d.Policy.Plans(), plan) {
		return plan
	}
	return ""
}

// ofPlan is the source of the plan of an agreement.
var ofPlan = source{values: func(c Circumstances) any {
	if plan := c.Claims.Declared.Plan(); plan != "" {
		return plan
	}
	return nil
}}

// agreedTo reports whether an operand is a fact of the agreement that the gateway reads from the PAT.
func agreedTo(operand string) bool { return operand == odrl.Plan }
