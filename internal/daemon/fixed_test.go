package daemon_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// fixedAgents describes an intent of each kind that can have fixed values.
const fixedAgents = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [
    {"intent_uid": "shop.example:search-products:v1", "intent_name": "SearchProducts", "description": "Search products.",
     "input_parameters": [{"name": "query", "type": "string", "required": true}, {"name": "api_key", "type": "string", "required": true}],
     "output_parameters": [{"name": "total", "type": "integer"}],
     "endpoint": {"url": "https://shop.example/products", "method": "GET"}},
    {"intent_uid": "shop.example:product-details:v1", "intent_name": "ProductDetails", "description": "One product.",
     "input_parameters": {"shop_number": {"type": "integer"}, "id": {"type": "string"}},
     "endpoint": {"url": "https://shop.example/shops/{shop_number}/products/{id}", "method": "GET"}},
    {"intent_uid": "shop.example:place-order:v1", "intent_name": "PlaceOrder", "description": "Order a product.",
     "input_parameters": [
       {"name": "product_id", "type": "string", "required": true},
       {"name": "client_secret", "type": "string", "required": true, "minLength": 8}],
     "endpoint": {"url": "https://shop.example/orders", "method": "POST"}}
  ]
}`

const fixedConfig = `
server: {listen: 127.0.0.1:0, per_address: 1000000/second, issue_per_address: 100000/minute}
admin: {listen: 127.0.0.1:0, token: ` + adminToken + `}
billing: {credit: 1 EUR, newcomers: 1 EUR}
telemetry: {log: {level: debug}}
audit: {parameters: true}
services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: UPSTREAM, timeout: 2s}
  fixed:
    "query:api_key": canary-fixed-key
    "header:X-Tenant": canary-fixed-tenant
    "header:user-agent": canary-fixed-agent
    "body:/client_secret": canary-fixed-wide
    "body:/client/id": ${file:client.txt}
    "body:/client/tags": [canary-fixed-list, 7, true, {deep: canary-fixed-deep}]
  intents:
    "shop.example:product-details:v1": {fixed: {shop_number: "${file:shop.txt}", "header:X-Tenant": canary-fixed-own}}
    "shop.example:place-order:v1": {proof: optional, fixed: {client_secret: canary-fixed-secret}}
`

// The fixed values of the operator reach only the service.
func TestFixedValuesReachOnlyTheService(t *testing.T) {
	t.Parallel()
	files := map[string]string{"client.txt": "canary-fixed-file\n", "shop.txt": "880099"}
	service := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.String(), "wrong") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"message":"there is no canary-fixed-key here"}`))
			return
		}
		_, _ = w.Write([]byte(`{"total":1}`))
	}
	g := startGate(t, setup{files: files, config: fixedConfig, agents: fixedAgents, upstream: service})
	a := g.newAgent("agent-1").agree()
	for uid, parameters := range map[string]map[string]any{
		search: {"query": "lamp"}, details: {"id": "p1"}, order: {"product_id": "p1"},
	} {
		if got := a.execute(uid, parameters, nil); got.status != http.StatusOK {
			t.Errorf("%s: got %d %s; want %v", uid, got.status, got.body, http.StatusOK)
		}
	}
	var requests []string
	for _, c := range g.upstream.calls() {
		requests = append(requests, c.method+" "+c.uri+" "+c.body+" "+c.header.Get("X-Tenant")+" "+c.header.Get("User-Agent"))
	}
	slices.Sort(requests)
	want := []string{
		"GET /products?api_key=canary-fixed-key&query=lamp  canary-fixed-tenant canary-fixed-agent",
		"GET /shops/880099/products/p1?api_key=canary-fixed-key  canary-fixed-own canary-fixed-agent",
		`POST /orders?api_key=canary-fixed-key {"client":{"id":"canary-fixed-file","tags":["canary-fixed-list",7,true,` +
			`{"deep":"canary-fixed-deep"}]},"client_secret":"canary-fixed-secret","product_id":"p1"} canary-fixed-tenant canary-fixed-agent`,
	}
	if !slices.Equal(requests, want) {
		t.Errorf("the service saw\n%s\nwant\n%s", strings.Join(requests, "\n"), strings.Join(want, "\n"))
	}
	var texts []string
	for uid, name := range map[string]string{search: "api_key", details: "shop_number", order: "client_secret"} {
		got := a.execute(uid, map[string]any{"query": "lamp", "id": "p1", "product_id": "p1", name: "mine"}, nil)
		if got.status != http.StatusBadRequest || got.reason(t) != "UNKNOWN_PARAMETER" {
			t.Errorf("%s with %s of the agent's own: %d %s", uid, name, got.status, got.body)
		}
	}
	refused := a.execute(search, map[string]any{"query": "wrong"}, nil)
	if refused.reason(t) != "UPSTREAM_REJECTED" {
		t.Errorf("got %d %s", refused.status, refused.body)
	}
	texts = append(texts, string(refused.body))
	for _, path := range []string{
		"/agents.json", "/.well-known/agents.json", "/api/intents/search?query=product", "/api/intents/" + search, "/api/intents/" + details,
		"/api/intents/" + order, "/", "/openapi.json", "/api/policy",
	} {
		got := g.do("GET", path, nil, header{"Accept": "text/html, application/json"})
		if got.status != http.StatusOK {
			t.Errorf("GET %s: %d, want %d", path, got.status, http.StatusOK)
		}
		for _, name := range []string{"api_key", "shop_number", "client_secret"} {
			if strings.Contains(string(got.body), name) {
				t.Errorf("GET %s names %s: %s", path, name, got.body)
			}
		}
		texts = append(texts, string(got.body))
	}
	texts = append(texts, string(g.adminDo("GET", "/metrics", nil).body), string(g.adminDo("GET", "/admin/v1/status", nil).body))
	g.stop()
	for _, text := range append(texts, g.log.String(), g.file("data/audit.jsonl")) {
		for _, value := range []string{"canary-fixed", "880099"} {
			if at := strings.Index(text, value); at >= 0 {
				t.Errorf("%q leaked: …%s…", value, text[max(0, at-200):min(len(text), at+60)])
			}
		}
	}
}
