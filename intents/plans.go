package intents

import (
	"encoding/json"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Bounds of uim-plans. Entries beyond them are left out.
const (
	maxPlans       = 16  // of a service
	maxPlanTerms   = 200 // of a plan
	maxPlanIntents = 100 // of terms
)

// A Plan is a plan of the policy, as the member uim-plans describes it. Only the policy is binding.
type Plan struct {
	Name  string      `json:"name"`
	Terms []PlanTerms `json:"terms"`
}

// PlanTerms are a price and limits in words, such as "0.10 EUR a call, 600 calls an hour", with the intents that they apply to.
type PlanTerms struct {
	Text    string   `json:"text"`
	Intents []string `json:"intents"`        // UIDs
	More    int64    `json:"more,omitempty"` // number of further intents
}

// plans reads uim-plans, which a gateway publishes. It leaves out plans and terms that are not valid.
func (f *reader) plans(tree strictjson.Object) []Plan {
	var out []Plan
	for _, v := range tree.List("uim-plans") {
		m, _ := strictjson.AsObject(v)
		p := Plan{Name: fitting(m.Text("name"), maxName), Terms: []PlanTerms{}}
		if p.Name == "" || len(out) == maxPlans {
			continue
		}
		for _, v := range m.List("terms") {
			t, _ := strictjson.AsObject(v)
			one := PlanTerms{Text: fitting(t.Text("text"), maxDescription), Intents: []string{}}
			if one.Text == "" || len(p.Terms) == maxPlanTerms {
				continue
			}
			one.More = count(t.Number("more"))
			for _, v := range t.List("intents") {
				uid, _ := v.(string)
				switch {
				case uid == "" || len(uid) > maxName:
				case len(one.Intents) == maxPlanIntents:
					one.More++
				default:
					one.Intents = append(one.Intents, uid)
				}
			}
			p.Terms = append(p.Terms, one)
		}
		out = append(out, p)
	}
	return out
}

// fitting returns text, or an empty string if text has more bytes than most.
func fitting(text string, most int) string {
	if len(text) > most {
		return ""
	}
	return text
}

// count returns a number that is not negative, or 0.
func count(n json.Number) int64 {
	v, err := n.Int64()
	if err != nil || v < 0 {
		return 0
	}
	return v
}
