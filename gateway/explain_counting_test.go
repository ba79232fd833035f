package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
)

// Sentences about limits and prices match how a gateway counts and charges. Each step is a call with its answer.
func TestExplainMatchesCounting(t *testing.T) {
	const head = `{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"http://example.com/p","profile":"http://example.com/profile/odrl-uim",` +
		`"permission":`
	const uimLimit = `"constraint":{"leftOperand":"rateLimit","operator":"lteq","rightOperand":1,"unit":"hour"}`
	const priced = `"duty":{"action":"pay","target":"http://example.com/vocab/intentPrice","amount":"0.25","unit":"EUR"}`
	const apart = "Each action and each target is counted separately"
	const perAgent = "At most 1 time per hour, for each agent."
	type step struct {
		agent, intent string
		status        int
	}
	ok, over, short := http.StatusOK, http.StatusTooManyRequests, http.StatusPaymentRequired
	search, order := gatetest.Searching, gatetest.Ordering
	for name, tt := range map[string]struct {
		permission, credit string
		says               []string
		silent             string
		steps              []step
	}{
		"each agent": {
			`{"target":"` + search + `","action":"execute",` + uimLimit + `}`, "100 EUR",
			[]string{perAgent},
			apart,
			[]step{{"one", search, ok}, {"one", search, over}, {"two", search, ok}},
		},
		"each target": {
			`{"target":["` + search + `","` + order + `"],"action":"execute",` + uimLimit + `}`, "100 EUR",
			[]string{perAgent, apart},
			"",
			[]step{{"one", search, ok}, {"one", order, ok}, {"one", order, over}, {"two", order, ok}},
		},
		"each action": {
			`{"target":"` + search + `","action":["execute","use"],` + uimLimit + `}`, "100 EUR",
			[]string{perAgent, apart},
			"",
			[]step{{"one", search, ok}, {"one", search, ok}, {"one", search, over}},
		},
		"a limit of the action": {
			`{"target":"` + search + `","action":{"rdf:value":{"@id":"odrl:use"},"refinement":` + strings.TrimPrefix(uimLimit, `"constraint":`) + `}}`,
			"100 EUR",
			[]string{"at most 1 time per hour, for each agent"},
			apart,
			[]step{{"one", search, ok}, {"one", search, over}, {"two", search, ok}},
		},
		"a name of several intents": {
			`{"target":"shop.example","action":"execute",` + uimLimit + `}`, "100 EUR",
			[]string{perAgent},
			apart,
			[]step{{"one", search, ok}, {"one", order, over}},
		},
		"price of each call": {
			`{"target":"` + order + `","action":"execute",` + priced + `}`, "5 EUR", // an unapproved agent has a tenth of the credit
			[]string{"must pay 0.25 EUR for each call."},
			apart,
			[]step{{"one", order, ok}, {"one", order, ok}, {"one", order, short}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			policy := []byte(head + tt.permission + `}`)
			p, problems := odrl.Load(t.Context(), policy, odrl.LoadOptions{})
			if p == nil {
				t.Fatal(problems)
			}
			var text string
			for _, s := range words.Explain(p) {
				text += s.Text + "\n" + strings.Join(s.Terms, "\n") + "\n"
			}
			for _, says := range tt.says {
				if !strings.Contains(text, says) {
					t.Errorf("want %q in\n%s", says, text)
				}
			}
			if tt.silent != "" && strings.Contains(text, tt.silent) {
				t.Errorf("want no %q in\n%s", tt.silent, text)
			}
			settings := "billing: {credit: " + tt.credit + "}\nservices:\n- {agents_file: agents.json, policy_file: policy.json, " +
				"upstream: {url: UPSTREAM}, " + gatetest.Unproved + "}\n"
			g := gatetest.New(t, settings, func(g *gatetest.Gate) { g.Write("policy.json", string(policy)) })
			agents := map[string]*gatetest.Agent{"one": g.Agreed("one"), "two": g.Agreed("two")}
			for i, s := range tt.steps {
				if got := g.Execute(agents[s.agent], s.intent); got.Status != s.status {
					t.Errorf("step %d, %s calls %s: %d %s; want %d", i, s.agent, s.intent, got.Status, got.Body, s.status)
				}
			}
		})
	}
}
