package page

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/odrl"
)

// A Plan is a plan of a policy, with its terms in words.
type Plan struct {
	Name  string      `json:"name"`
	Terms []PlanTerms `json:"terms"`
}

// PlanTerms holds the price and the limits of intents under a plan, such as "0.10 EUR a call, 600 calls an hour". Only the policy is
// binding.
type PlanTerms struct {
	Text    string   `json:"text"`
	Intents []string `json:"intents"`        // UIDs, at most planIntents
	More    int      `json:"more,omitempty"` // number of further intents
}

// planIntents is the maximum number of intents that the terms of a plan list.
const planIntents = 100

// Plans returns the plans of the policy of a service, in the order of the policy, with the terms for agents that the policy does not name.
// It omits terms that hold without a plan.
func Plans(ctx context.Context, s *service.Definition) []Plan {
	var plans []Plan
	for _, name := range s.Policy.Plans() {
		plans = append(plans, Plan{Name: name, Terms: []PlanTerms{}})
	}
	if plans == nil {
		return nil
	}
	for _, in := range s.Offered() {
		terms, err := s.Policy.Terms(ctx, odrl.Request{Intent: in.ID})
		if err != nil || !terms.Permitted {
			continue
		}
		for i := range plans {
			for _, c := range terms.Candidates {
				if slices.Contains(c.Plans, plans[i].Name) {
					plans[i].add(costWords(c), in.ID)
				}
			}
		}
	}
	return plans
}

// add adds the terms of an intent.
func (p *Plan) add(text, intent string) {
	at := slices.IndexFunc(p.Terms, func(t PlanTerms) bool { return t.Text == text })
	if at < 0 {
		at = len(p.Terms)
		p.Terms = append(p.Terms, PlanTerms{Text: text})
	}
	t := &p.Terms[at]
	switch {
	case slices.Contains(t.Intents, intent):
	case len(t.Intents) == planIntents:
		t.More++
	default:
		t.Intents = append(t.Intents, intent)
	}
}

// PlansMember returns the plans of a service as JSON, for agents.json; nil if there are none.
func PlansMember(ctx context.Context, s *service.Definition) ([]byte, error) {
	plans := Plans(ctx, s)
	if plans == nil {
		return nil, nil
	}
	return json.Marshal(plans)
}

// planWords describes plans in one sentence each, such as "pro: 0.10 EUR a call, 600 calls an hour.".
func planWords(plans []Plan) string {
	var list []string
	for _, plan := range plans {
		var terms []string
		for _, t := range plan.Terms {
			terms = append(terms, t.Text)
		}
		list = append(list, plan.Name+": "+strings.Join(terms, "; or ")+".")
	}
	return strings.Join(list, " ")
}
