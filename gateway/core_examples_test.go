package gateway_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// coreAgents is the agents.json of the examples in UIM core 2.2, 3.2, 5.2 and 5.4.
const coreAgents = `{
  "service-info": {"name": "Example Service", "description": "Service description", "service_url": "https://api.example.com"},
  "intents": [{
    "intent_uid": "example.com:search-products:v1", "intent_name": "SearchProducts",
    "description": "Search for products based on criteria",
    "input_parameters": [
      {"name": "query", "type": "string", "required": true, "description": "The search term"},
      {"name": "category", "type": "string", "required": false},
      {"name": "price_range", "type": "string", "required": false},
      {"name": "sort_by", "type": "string", "required": false}],
    "output_parameters": [{"name": "products", "type": "array"}, {"name": "total_results", "type": "number"}],
    "endpoint": {"url": "https://api.example.com/products", "method": "POST", "content_type": "application/json"},
    "tags": ["e-commerce", "search", "products"], "category": "shopping"}],
  "uim-compliance": {"standards": ["ISO27001", "GDPR"], "regional-compliance": {"EU": "GDPR", "US-CA": "CCPA"}},
  "uim-license": "https://uimprotocol.com/licenses/uim-by-nc-v1.0"
}`

const corePolicy = `{"@context": "http://www.w3.org/ns/odrl.jsonld", "uid": "http://example.com/policy/12345", "type": "Set",
  "profile": "http://example.com/profile/odrl-uim", "permission": [{"target": "http://example.com/api/intents", "action": "execute",
  "constraint": [{"leftOperand": "http://example.com/vocab/rateLimit", "operator": "lte", "rightOperand": 100,
    "unit": "http://example.com/vocab/hour"}]}]}`

// coreProducts is the response in the example of UIM core 3.2.
const coreProducts = `{"products": [{"id": "123", "name": "Gaming Laptop", "price": 1500, "category": "electronics"},
  {"id": "456", "name": "Business Laptop", "price": 1200, "category": "electronics"}], "total_results": 2}`

// TestTheExamplesOfCore checks that responses have the members in the examples of UIM core, so an agent written from them works.
func TestTheExamplesOfCore(t *testing.T) {
	g := pageGate(t, coreAgents, corePolicy, ", publish_upstream: true")
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, coreProducts) }
	object := func(text []byte) (m map[string]any) {
		t.Helper()
		g.Must(json.Unmarshal(text, &m))
		return m
	}
	has := func(what string, m map[string]any, names ...string) {
		t.Helper()
		for _, name := range names {
			if _, there := m[name]; !there {
				t.Errorf("%s lacks %s: has %v", what, name, slices.Sorted(maps.Keys(m)))
			}
		}
	}
	has("agents.json", object(g.Get("/agents.json").Body), // core 5.2
		"service-info", "intents", "uim-public-key", "uim-policy-file", "uim-api-discovery", "uim-compliance", "uim-license")
	for _, query := range []string{
		"", "?query=products", "?uid=example.com:search-products:v1", "?intent_name=SearchProducts",
		"?tags=e-commerce", "?category=shopping", "?description=criteria",
	} { // core 5.4
		found, ok := object(g.Get("/api/intents/search" + query).Body)["intents"].([]any)
		if !ok || len(found) != 1 {
			t.Errorf("%s: %v", query, found)
			continue
		}
		want, _ := object([]byte(coreAgents))["intents"].([]any)
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", query, diff)
		}
	}
	a := g.Agreed("ai-agent-123")
	claims, err := base64.RawURLEncoding.DecodeString(strings.Split(a.Token, ".")[1])
	g.Must(err)
	pat := object(claims)
	has("a PAT", pat, "iss", "sub", "exp", "nbf", "jti", "scope", "pol", "lmt") // core 4.1
	limit, _ := pat["lmt"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"rate": 100.0, "period": 3600.0}, limit); diff != "" || pat["iss"] != "example.com" {
		t.Errorf("got %s %s", claims, diff)
	}
	call := func(token, query string) gatetest.Answer {
		return g.Call("/api/intents/execute", token, map[string]any{"intent_uid": "example.com:search-products:v1", "parameters": map[string]any{
			query: "laptop", "category": "electronics", "price_range": "1000-2000",
		}})
	}
	if diff := cmp.Diff(object([]byte(coreProducts)), object(call(a.Token, "query").Body)); diff != "" { // core 3.2
		t.Errorf("execute: (-want +got)\n%s", diff)
	}
	for code, answer := range map[string]gatetest.Answer{"UNAUTHORIZED": call("", "query"), "INVALID_PARAMETER": call(a.Token, "quest")} {
		refused, _ := object(answer.Body)["error"].(map[string]any) // core 3.3
		if has("an error", refused, "code", "message", "details"); refused["code"] != code {
			t.Errorf("%s: %s", code, answer.Body)
		}
	}
}
