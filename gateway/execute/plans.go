package execute

import (
	"context"
	"maps"

	"github.com/uimgate/uimgate/odrl"
)

// otherPlans returns the plans that would permit a call that the policy refused under the plan of the agreement.
func (e *execution) otherPlans(ctx context.Context) []string {
	own := e.service.PlanOf(e.claims)
	var plans []string
	for _, plan := range e.service.Policy.PlansOf(e.intent.ID) {
		if plan == own {
			continue
		}
		request := e.question
		if request.Facts = maps.Clone(request.Facts); request.Facts == nil {
			request.Facts = map[string]any{}
		}
		request.Facts[odrl.Plan] = plan
		if d, err := e.service.Policy.Decide(ctx, request); err == nil && d.Permit {
			plans = append(plans, plan)
		}
	}
	return plans
}
