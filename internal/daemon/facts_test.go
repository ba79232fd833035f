package daemon_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/pat"
)

// factsPolicy permits searches only for research and only in Europe, and never to banned agents.
const factsPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"uid": "https://shop.example/policy/1#search", "target": "shop.example:search-products:v1", "action": "execute",
     "constraint": [{"leftOperand": "purpose", "operator": "eq", "rightOperand": "research"},
                    {"leftOperand": "spatial", "operator": "isPartOf", "rightOperand": "DE"}]},
    {"target": "shop.example:product-details:v1", "action": "execute", "constraint": [{"leftOperand": "industry", "operator": "isAnyOf", "rightOperand": ["health", "schools"]}]},
    {"target": "shop.example:place-order:v1", "action": "execute"}],
  "prohibition": [
    {"uid": "https://shop.example/policy/1#no-resale", "target": "shop.example:place-order:v1", "action": "execute", "constraint": [{"leftOperand": "product", "operator": "eq", "rightOperand": "weapon"}]}]
}`

const factsConfig = `  facts:
    purpose: [{claim: purpose}, {parameter: /category}]
    spatial: [{header: X-Country}]
    industry: [{agents: {agent-1: [health], agent-2: [oil, gas]}}]
    product: [{parameter: /product_id}]
`

func factsGate(t *testing.T, more string) *gate {
	t.Helper()
	config := strings.Replace(testConfig, "per_address:", "trusted_proxies: [127.0.0.1], per_address:", 1)
	return startGate(t,
		setup{
			policy: factsPolicy, agents: strings.Replace(testAgents, `"enum": ["home", "garden"]`, `"enum": ["home", "research"]`, 1),
			config: config + factsConfig + more,
		})
}

func TestFactsFromConfiguredSources(t *testing.T) {
	t.Parallel()
	g := factsGate(t, "")
	first, second := g.newAgent("agent-1").agree(), g.newAgent("agent-2").agree()
	research := map[string]any{"query": "lamp", "category": "research"}
	germany := header{"X-Country": "DE-BY"}
	for _, test := range []struct {
		name       string
		agent      *agent
		intent     string
		parameters map[string]any
		header     header
		reason     string // empty: permitted
	}{
		{"all known", first, search, research, germany, ""},
		{"another purpose", first, search, map[string]any{"query": "lamp", "category": "home"}, germany, "POLICY_NOT_APPLICABLE"},
		{"no purpose", first, search, map[string]any{"query": "lamp"}, germany, "POLICY_NOT_APPLICABLE"},
		{"no place", first, search, research, nil, "POLICY_NOT_APPLICABLE"},
		{"another place", first, search, research, header{"X-Country": "FR"}, "POLICY_NOT_APPLICABLE"},
		{"a place with the same prefix", first, search, research, header{"X-Country": "DEX"}, "POLICY_NOT_APPLICABLE"},
		{"an agent of the industry", first, details, map[string]any{"id": "p1"}, nil, ""},
		{"an agent of another industry", second, details, map[string]any{"id": "p1"}, nil, "POLICY_NOT_APPLICABLE"},
		{"an agent without industry", g.newAgent("agent-3").agree(), details, map[string]any{"id": "p1"}, nil, "POLICY_NOT_APPLICABLE"},
		{"not prohibited", first, order, map[string]any{"product_id": "p1"}, nil, ""},
		{"prohibited", first, order, map[string]any{"product_id": "weapon"}, nil, "POLICY_CONFLICT"},
	} {
		got := test.agent.execute(test.intent, test.parameters, test.header)
		if test.reason == "" && got.status != http.StatusOK || test.reason != "" && got.reason(t) != test.reason {
			t.Errorf("%s: %d %s, want %q", test.name, got.status, got.body, test.reason)
		}
	}
}

func TestSignedDeclarationsOverrideParameters(t *testing.T) {
	t.Parallel()
	g := factsGate(t, "")
	a := g.newAgent("agent-1")
	got := a.issueWith(a.agreement(func(c *pat.AgreementClaims) { c.Declared = pat.Declaration{"purpose": {"resale"}} }))
	a.token, _ = got.json(t)["uim-pat"].(string)
	declared, _ := payload(t, a.token)["declared"].(map[string]any)
	if len(declared) != 1 {
		t.Errorf("the PAT declares %v, want length 1", declared)
	}
	if got := a.execute(search, map[string]any{"query": "lamp", "category": "research"},
		header{"X-Country": "DE"}); got.reason(t) != "POLICY_NOT_APPLICABLE" {
		t.Errorf("declared resale, parameter research: %d %s", got.status, got.body)
	}
	b := g.newAgent("agent-2")
	got = b.issueWith(b.agreement(func(c *pat.AgreementClaims) { c.Declared = pat.Declaration{"purpose": {"research"}} }))
	b.token, _ = got.json(t)["uim-pat"].(string)
	if got := b.execute(search, map[string]any{"query": "lamp"}, header{"X-Country": "DE"}); got.status != http.StatusOK {
		t.Errorf("declared research: %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	renewed := g.do("POST", "/api/pat/renew", mustJSON(t, map[string]any{}),
		header{"Content-Type": "application/json", "Authorization": "Bearer " + b.token})
	b.token, _ = renewed.json(t)["uim-pat"].(string)
	if got := b.execute(search, map[string]any{"query": "lamp"}, header{"X-Country": "DE"}); got.status != http.StatusOK {
		t.Errorf("declared research, renewed: %d %s (renewal: %d %s)", got.status, got.body, renewed.status, renewed.body)
	}
}

func TestHeaderFactsOnlyFromTrustedProxies(t *testing.T) {
	t.Parallel()
	config := strings.Replace(testConfig, "per_address:", "trusted_proxies: [192.0.2.1], per_address:", 1)
	g := startGate(t, setup{policy: factsPolicy, config: config + factsConfig})
	a := g.newAgent("agent-1")
	got := a.issueWith(a.agreement(func(c *pat.AgreementClaims) { c.Declared = pat.Declaration{"purpose": {"research"}} }))
	a.token, _ = got.json(t)["uim-pat"].(string)
	if got := a.execute(search, map[string]any{"query": "lamp"}, header{"X-Country": "DE"}); got.reason(t) != "POLICY_NOT_APPLICABLE" {
		t.Errorf("a header of the agent's own: %d %s", got.status, got.body)
	}
}

func TestFactsFromParametersAreAuditedAsDigests(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{"false": hex.EncodeToString(sha256Of(`"research"`)), "true": "research"} {
		g := factsGate(t, "audit: {parameters: "+values+"}\n")
		a := g.newAgent("agent-1").agree()
		a.execute(search, map[string]any{"query": "lamp", "category": "research"}, header{"X-Country": "DE"})
		record := g.audited()[0]
		facts, _ := record["facts"].(map[string]any)
		if facts["purpose"] != want || facts["spatial"] != "DE" {
			t.Errorf("parameters: %s: facts %v, want purpose %s", values, facts, want)
		}
		if names, _ := record["facts_sha256"].([]any); (len(names) == 1) != (values == "false") {
			t.Errorf("parameters: %s: facts_sha256 %v", values, names)
		}
	}
}

func sha256Of(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func TestUnknowableFactsAreRefusedAtLoad(t *testing.T) {
	t.Parallel()
	proxies := strings.Replace(testConfig, "per_address:", "trusted_proxies: [127.0.0.1], per_address:", 1)
	for name, test := range map[string]struct{ config, want string }{
		"no source":             {testConfig, "services[0].facts"},
		"no proxy":              {testConfig + factsConfig, "trusted only from server.trusted_proxies"},
		"a fact of the gateway": {proxies + factsConfig + "    dateTime: [{parameter: /now}]\n", "the gateway itself provides dateTime"},
		"two at once": {
			proxies + strings.Replace(factsConfig, "{claim: purpose}", "{claim: purpose, parameter: /x}", 1),
			"must have exactly one of",
		},
		"no pointer":                    {proxies + strings.Replace(factsConfig, "/category", "category", 1), "is not a JSON pointer"},
		"a header that means something": {proxies + strings.Replace(factsConfig, "X-Country", "authorization", 1), "has another meaning"},
	} {
		if got := refusal(t, setup{policy: factsPolicy, config: test.config}); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want a text that contains %q", name, got, test.want)
		}
	}
}

// quantityPolicy limits the size of a search, the networks of orders, and the age of a product.
const quantityPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:search-products:v1", "action": "execute", "constraint": [{"leftOperand": "absoluteSize", "operator": "lteq", "rightOperand": "99.5"}]},
    {"target": "shop.example:product-details:v1", "action": "execute", "constraint": [{"leftOperand": "elapsedTime", "operator": "lt", "rightOperand": "P1M"}]},
    {"target": "shop.example:place-order:v1", "action": "execute", "constraint": [{"leftOperand": "virtualLocation", "operator": "isAnyOf", "rightOperand": ["192.0.2.0/24", "2001:db8::/32"]}]}]
}`

const quantityConfig = `  facts:
    absoluteSize: [{parameter: /max_price}]
    elapsedTime: [{parameter: /id}]
    virtualLocation: [{address: true}]
`

func TestNumberDurationAndNetworkFacts(t *testing.T) {
	t.Parallel()
	config := strings.Replace(testConfig, "per_address:", "trusted_proxies: [127.0.0.1], per_address:", 1)
	g := startGate(t, setup{policy: quantityPolicy, config: config + quantityConfig})
	a := g.newAgent("agent-1").agree()
	sized := func(n any) map[string]any { return map[string]any{"query": "lamp", "max_price": n} }
	aged := func(s string) map[string]any { return map[string]any{"id": s} }
	one := map[string]any{"product_id": "p1"}
	const no = "POLICY_NOT_APPLICABLE"
	for _, test := range []struct {
		name       string
		intent     string
		parameters map[string]any
		from       string
		reason     string // empty: permitted
	}{
		{"a small size", search, sized(99.5), "", ""},
		{"a size just above", search, sized(json.Number("99.50000000000001")), "", no},
		{"no size", search, map[string]any{"query": "lamp"}, "", no},
		{"young", details, aged("P27D"), "", ""},
		{"old", details, aged("P32D"), "", no},
		{"as old as some months", details, aged("P30D"), "", no},
		{"no duration", details, aged("30"), "", no},
		{"in the network", order, one, "192.0.2.7", ""},
		{"in the other network", order, one, "2001:db8::7", ""},
		{"outside the networks", order, one, "192.0.3.7", no},
		{"from loopback", order, one, "", no},
	} {
		h := header{}
		if test.from != "" {
			h["X-Forwarded-For"] = test.from
		}
		got := a.execute(test.intent, test.parameters, h)
		if test.reason == "" && got.status != http.StatusOK || test.reason != "" && got.reason(t) != test.reason {
			t.Errorf("%s: %d %s, want %q", test.name, got.status, got.body, test.reason)
		}
	}
	facts, _ := g.audited()[0]["facts"].(map[string]any)
	if want := hex.EncodeToString(sha256Of("99.5")); facts["absoluteSize"] != want {
		t.Errorf("audited %v, want the digest %s", facts, want)
	}
}

func TestQuantitiesWithoutASourceAreRefusedAtLoad(t *testing.T) {
	t.Parallel()
	for operand, value := range map[string]string{
		"absoluteSize": `5`, "elapsedTime": `"P1D"`, "virtualLocation": `"10.0.0.1"`,
		"event": `"http://shop.example/fair"`,
	} {
		policy := strings.Replace(quantityPolicy, `"absoluteSize", "operator": "lteq", "rightOperand": "99.5"`,
			`"`+operand+`", "operator": "eq", "rightOperand": `+value, 1)
		config := testConfig + strings.Replace(quantityConfig, "    "+operand+":", "    purpose:", 1)
		if got := refusal(t, setup{policy: policy, config: config}); !strings.Contains(got, "depends on "+operand) ||
			!strings.Contains(got, operand+": [{parameter: /"+operand+"}]") {
			t.Errorf("%s: %s", operand, got)
		}
	}
	policy := strings.Replace(quantityPolicy, `"absoluteSize", "operator": "lteq", "rightOperand": "99.5"`,
		`"payAmount", "operator": "lteq", "rightOperand": 5, "unit": "EUR"`, 1)
	got := refusal(t, setup{policy: policy, config: testConfig + quantityConfig})
	if !strings.Contains(got, "use a duty to pay to set a price") {
		t.Errorf("payAmount: %s, want a text that contains %q", got, "use a duty to pay to set a price")
	}
}
