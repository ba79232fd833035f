package daemon_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

func thumbprint(t *testing.T, a *agent) string {
	t.Helper()
	key, err := keys.New(a.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(key.Thumbprint())
}

// The example of UIM core 6.2, unchanged: a limit, a price, a prohibition and a signature with each call.
const corePolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld",
  "uid": "http://example.com/policy/12345",
  "type": "Set",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [{
    "target": "http://example.com/api/intents", "action": "execute",
    "constraint": [{"leftOperand": "http://example.com/vocab/rateLimit", "operator": "lte", "rightOperand": 1000, "unit": "http://example.com/vocab/hour"}],
    "duty": [{"action": "pay", "target": "http://example.com/vocab/intentPrice", "amount": 0.01, "unit": "http://example.com/vocab/USD"}]
  }],
  "prohibition": [{"target": "http://example.com/api/intents", "action": "exceedRateLimit"}],
  "obligation": [{
    "action": "signPayload", "assignee": "http://example.com/ai-agent/1", "target": "http://example.com/vocab/payload",
    "constraint": [{"leftOperand": "http://example.com/vocab/publicKey", "operator": "use", "rightOperand": "MIIBIjANBgkqh..."}]
  }],
  "party": [
    {"function": "assigner", "identifier": "http://example.com/web-service/1"},
    {"function": "assignee", "identifier": "http://example.com/ai-agent/1"}
  ],
  "asset": "http://example.com/api/intents"
}`

// testConfigUSD lets an agent owe two calls under the core example.
var testConfigUSD = strings.ReplaceAll(testConfig, "1 EUR", "0.02 USD")

func TestCoreExamplePolicyIsEnforced(t *testing.T) {
	for name, assignee := range map[string]string{
		"assignee read as anyone": "  assignee: anyone",
		"assignee mapped":         "  parties: {\"http://example.com/ai-agent/1\": {agent_id: agent-1, key: KEY}}",
	} {
		t.Run(name, func(t *testing.T) {
			probe := startGate(t, setup{})
			a := probe.newAgent("agent-1")
			g := startGate(t, setup{
				policy: corePolicy,
				config: testConfigUSD + strings.Replace(assignee, "KEY", thumbprint(t, a), 1) + "\n",
			})
			a.g = g
			a.agree()
			parameters := map[string]any{"query": "lamp"}
			if got := a.execute(search, parameters, nil); got.status != http.StatusForbidden || got.reason(t) != "POLICY_REQUIRES_VERIFICATION" {
				t.Errorf("without a proof: %d %s", got.status, got.body)
			}
			proof := a.proof(search, parameters)
			got := a.execute(search, parameters, header{"UIM-Proof": proof})
			if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("UIM-Charge"), "0.01 USD; ") || left(got, "hour") != 999 {
				t.Errorf("with a proof: %d %s %v", got.status, got.body, got.header)
			}
			if got := a.execute(search, parameters, header{"UIM-Proof": proof}); got.reason(t) != "PROOF_REPLAYED" {
				t.Errorf("the same proof again: %d %s", got.status, got.body)
			}
			if got := a.execute(search, map[string]any{"query": "other"},
				header{"UIM-Proof": a.proof(search, parameters)}); got.status != http.StatusForbidden {
				t.Errorf("a proof of other parameters: %d %s; want %v", got.status, got.body, http.StatusForbidden)
			}
			if got := a.execute(search, parameters, header{"UIM-Proof": a.proof(search, parameters)}); got.status != http.StatusOK {
				t.Errorf("second call: %d %s; want %v", got.status, got.body, http.StatusOK)
			}
			if got := a.execute(search, parameters, header{"UIM-Proof": a.proof(search, parameters)}); got.reason(t) != "POLICY_REQUIRES_PAYMENT" {
				t.Errorf("beyond the credit: %d %s", got.status, got.body)
			}
			stranger := g.newAgent("stranger")
			signed := stranger.agreement(nil)
			refused := stranger.issueWith(signed)
			if name == "assignee mapped" && refused.status != http.StatusForbidden {
				t.Errorf("a stranger: %d %s", refused.status, refused.body)
			}
		})
	}
}

// The policy of the reference implementation: action objects with refinements, prefixes, counts with a period, compensate with a typed
// amount, several targets, a placeholder assignee.
const referencePolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "@type": "odrl:Set", "@id": "https://shop.example/uim-policy",
  "profile": "http://www.w3.org/ns/odrl/2/core",
  "permission": [
    {"target": "https://shop.example/uim/execute/SearchProducts",
     "action": {"id": "odrl:execute", "refinement": [{"leftOperand": "odrl:count", "operator": "odrl:lteq", "rightOperand": 3, "unit": "odrl:hour"}]}},
    {"target": "https://shop.example/uim/execute/PlaceOrder",
     "action": {"id": "odrl:execute", "refinement": [{"leftOperand": "odrl:count", "operator": "odrl:lteq", "rightOperand": 500, "unit": "odrl:hour"}]},
     "duty": [{"action": [{"rdf:value": {"@id": "odrl:compensate"}, "refinement": [{"leftOperand": "payAmount", "operator": "eq",
       "rightOperand": {"@value": "0.02", "@type": "xsd:decimal"}, "unit": "http://dbpedia.org/resource/Euro"}]}]}]}],
  "prohibition": [{"target": ["https://shop.example/uim/execute/SearchProducts", "https://shop.example/uim/execute/PlaceOrder"],
    "action": {"id": "odrl:execute", "refinement": [{"leftOperand": "odrl:count", "operator": "odrl:gt", "rightOperand": 3, "unit": "odrl:hour"}]}}],
  "party": [{"function": "odrl:assigner", "identifier": "https://shop.example/assigner"}, {"function": "odrl:assignee", "identifier": "https://shop.example/assignee"}],
  "asset": [{"id": "https://shop.example/uim/execute/SearchProducts", "type": "odrl:Asset"}]
}`

func TestReferencePolicyIsEnforced(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{policy: referencePolicy, config: testConfig + "  assignee: anyone\n"})
	a := g.newAgent("agent-1")
	signed := a.agreement(func(c *pat.AgreementClaims) { c.PolicyUID = "https://shop.example/uim-policy" })
	a.token, _ = a.issueWith(signed).json(t)["uim-pat"].(string)
	for i := range 3 {
		if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK {
			t.Fatalf("search %d: %d %s; want %v", i, got.status, got.body, http.StatusOK)
		}
	}
	if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusTooManyRequests ||
		got.reason(t) != "RATE_LIMIT_EXCEEDED" || got.header.Get("Retry-After") == "" {
		t.Errorf("over the count: %d %s", got.status, got.body)
	}
	if got := a.execute(order, map[string]any{"product_id": "p1"}, nil); got.status != http.StatusOK ||
		!strings.HasPrefix(got.header.Get("UIM-Charge"), "0.02 EUR; ") {
		t.Errorf("order: %d %s %q", got.status, got.body, got.header.Get("UIM-Charge"))
	}
	if got := a.execute(details, map[string]any{"id": "p1"}, nil); got.status != http.StatusForbidden {
		t.Errorf("an intent that the policy does not name: %d %s; want %v", got.status, got.body, http.StatusForbidden)
	}
}

func TestPoliciesThatCannotBeServed(t *testing.T) {
	for _, tt := range []struct{ name, policy, config, want string }{
		{
			"a target that matches no intent", strings.Replace(testPolicy, "shop.example:search-products:v1", "shop.example:serch-products:v1", 1),
			testConfig, "serch-products",
		},
		{"an unknown operand", strings.Replace(testPolicy, "rateLimit", "rateLimt", 1), testConfig, "rateLimt"},
		{"an unknown assignee", corePolicy, testConfig, "assignee: anyone"},
		{"a charge without credit", testPolicy, strings.Replace(testConfig, "billing: {credit: 1 EUR, newcomers: 1 EUR}\n", "", 1), "billing.credit"},
		{"a charge in another currency", testPolicy, strings.ReplaceAll(testConfig, "1 EUR", "1 USD"), "USD"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := refusal(t, setup{policy: tt.policy, config: tt.config}); !strings.Contains(got, tt.want) {
				t.Errorf("%s; want it to name %q", got, tt.want)
			}
		})
	}
}

// lmt is the limit that covers everything that the PAT permits, if there is one. If two permissions share a counter, it is the larger
// number. If two collections have separate counters, the PAT has no lmt.
func TestPATStatesItsLimit(t *testing.T) {
	for name, tt := range map[string]struct {
		policy       string
		rate, period string
	}{
		"one over all": {`{"target": "https://shop.example/api/intents", "action": "execute",
			"constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 7, "unit": "minute"}]}`, "7", "60"},
		"price steps on one counter": {`{"target": "https://shop.example/api/intents", "action": "execute",
			"constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 5, "unit": "hour"}], "duty": [{"action": "pay", "amount": "0.01", "unit": "EUR"}]},
			{"target": "https://shop.example/api/intents", "action": "execute",
			"constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 50, "unit": "hour"}], "duty": [{"action": "pay", "amount": "0.02", "unit": "EUR"}]}`, "50", "3600"},
		"one each": {`{"target": ["shop.example:search-products:v1", "shop.example:place-order:v1"], "action": "execute",
			"constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 7, "unit": "minute"}]}`, "10000", "86400"},
	} {
		t.Run(name, func(t *testing.T) {
			g := startGate(t, setup{policy: `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
				"profile": "http://example.com/profile/odrl-uim", "permission": [` + tt.policy + `]}`})
			a := g.newAgent("agent-1").agree()
			lmt, _ := payload(t, a.token)["lmt"].(map[string]any)
			if fmt.Sprint(lmt["rate"]) != tt.rate || fmt.Sprint(lmt["period"]) != tt.period {
				t.Errorf("lmt = %v, want %s in %s seconds", lmt, tt.rate, tt.period)
			}
		})
	}
}
