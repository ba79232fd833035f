package odrl

import (
	"slices"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// Plan is the left operand, and the name of the fact, that holds the plan of the agent's agreement.
const Plan = "plan"

// NoPlan is the fact to pass to Terms for an agreement without a plan, because Terms leaves an operand without a fact open. No plan can
// have this name.
const NoPlan = "(none)"

// Plans returns the names of the plans that the permissions of the policy belong to, in document order. A permission without a plan applies
// under every plan, and without one.
func (p *Policy) Plans() []string {
	if p.program == nil {
		return nil
	}
	return slices.Clone(p.program.Plans)
}

// PlansOf returns the plans of the permissions that concern an intent, in the order of Plans.
func (p *Policy) PlansOf(intent string) []string {
	if !p.names(intent) || len(p.program.Plans) == 0 {
		return nil
	}
	found := map[string]bool{}
	for _, r := range p.program.Rules {
		if r.Plans != nil && model.Includes(r.Action, "execute") && slices.Contains(p.program.Targets[intent], r.Target.Name) {
			for _, plan := range r.Plans {
				found[plan] = true
			}
		}
	}
	return slices.DeleteFunc(p.Plans(), func(plan string) bool { return !found[plan] })
}

// carried returns candidates for an intent with the limits of other plans. It does not change the list, which decisions about other intents
// can share.
func (p *Policy) carried(intent string, list []Candidate) []Candidate {
	if len(p.program.Plans) == 0 || len(list) == 0 {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Carried = p.program.Carried(intent, list[i].permission, list[i].Limits)
	}
	return list
}
