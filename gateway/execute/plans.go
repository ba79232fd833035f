package execute

import (
	"context"
	"maps"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/odrl"
)

// comparisonsPerMinute limits how often the other plans are evaluated after refused calls of one agent. A refused call costs the agent
// nothing, but the gateway evaluates the policy once for each plan.
var comparisonsPerMinute = limit.Rate{Max: 20, Period: limit.Minute}

// otherPlans returns the plans that would permit the call, which the policy has refused under the plan of the agreement. It returns none if
// too many recent calls of the agent were refused for this reason.
func (x *Executor) otherPlans(ctx context.Context, e *execution) []string {
	own := e.service.PlanOf(e.claims)
	all := e.service.Policy.PlansOf(e.intent.ID)
	if len(all) == 0 || len(all) == 1 && all[0] == own || !x.comparisons.Admit(e.caller, x.cfg.Now()) {
		return nil
	}
	var plans []string
	for _, plan := range all {
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
