package daemon_test

import (
	"net/http"
	"strings"
	"testing"
)

const answersConfig = `
server: {listen: 127.0.0.1:0, per_address: 1000000/second, issue_per_address: 100000/minute}
admin: {listen: 127.0.0.1:0, token: ` + adminToken + `}
billing: {credit: 1 EUR, newcomers: 1 EUR}
services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: UPSTREAM, timeout: 2s, auth: {header: "X-Api-Key: upstream-secret-canary"}}
  answers: lenient
  error_when: {pointer: /ok, equals: false, message: /error}
  intents:
    "shop.example:place-order:v1": {proof: optional}
    "shop.example:product-details:v1": {answers: strict, error_when: {pointer: /errors}}
`

// answered starts a gateway whose service responds with these bodies in turn, and then repeats the last one.
func answered(t *testing.T, bodies ...string) (*gate, *agent) {
	t.Helper()
	g := startGate(t, setup{config: answersConfig, upstream: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := bodies[0]
		if len(bodies) > 1 {
			bodies = bodies[1:]
		}
		_, _ = w.Write([]byte(body))
	}})
	return g, g.newAgent("agent-1").agree()
}

// A response that lacks a required output is passed on with a warning, and charged, even when it is replayed.
func TestLenientResponseCarriesAWarning(t *testing.T) {
	t.Parallel()
	g, a := answered(t, `{"canary-member":"canary-value","another":{"a":1}}`)
	call := map[string]any{"product_id": "p1"}
	for _, replayed := range []string{"", "true"} {
		got := a.execute(order, call, header{"Idempotency-Key": "k1", "UIM-Version": "1.0"})
		meta, _ := got.json(t)["meta"].(map[string]any)
		warnings, _ := meta["warnings"].([]any)
		if got.status != http.StatusOK || !strings.Contains(string(got.body), `"data":{}`) || len(warnings) != 1 ||
			!strings.Contains(string(got.body), `{"output":"order_id","message":"is absent"}`) {
			t.Errorf("got %d %s", got.status, got.body)
		}
		if h := got.header; h.Get("UIM-Warning") != `missing-output; name=order_id` || h.Get("Idempotency-Replayed") != replayed ||
			!strings.HasSuffix(h.Get("UIM-Charge"), "state=captured") {
			t.Errorf("got %v", h)
		}
	}
	if n := len(g.upstream.calls()); n != 1 {
		t.Errorf("the service saw %d calls, want 1", n)
	}
	for series, want := range map[string]string{
		`uimgate_undeclared_members_total{intent="` + order + `",service="default"}`: "2", `uimgate_missing_outputs_total{intent="` + order + `",service="default"}`: "1",
	} {
		if got := g.metric(series); got != want {
			t.Errorf("%s = %s, want %s", series, got, want)
		}
	}
	g.stop()
	if log := g.log.String(); !strings.Contains(log, `"members":["another","canary-member"]`) || strings.Contains(log, "canary-value") {
		t.Errorf("the log: %s", log)
	}
}

// The settings of an intent override those of the service.
func TestStrictIntentOfALenientService(t *testing.T) {
	t.Parallel()
	_, a := answered(t, `{"name":"lamp"}`, `{"id":"p1","errors":[{"message":"no such product","path":["product"]}]}`, `{"id":"p1","errors":[]}`)
	call := map[string]any{"id": "p1"}
	if got := a.execute(details, call, nil); got.status != http.StatusBadGateway || got.reason(t) != "RESPONSE_INVALID" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	got := a.execute(details, call, nil)
	if got.reason(t) != "UPSTREAM_REJECTED" || !strings.Contains(string(got.body), `"message":"product: no such product"`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := a.execute(details, call, nil); got.status != http.StatusOK || string(got.body) != `{"id":"p1"}` {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

// A service may report a failure with status 200: the gateway recognizes it, and charges nothing.
func TestRefusalWithStatus200IsNotCharged(t *testing.T) {
	t.Parallel()
	g, a := answered(t, `{"ok":false,"error":"<b>no_such_product</b>","order_id":"o-1"}`,
		`{"ok":false,"error":"bad key upstream-secret-canary"}`, `{"ok":true,"order_id":"o-2"}`)
	call := map[string]any{"product_id": "p1"}
	for _, replayed := range []string{"", "true"} {
		got := a.execute(order, call, header{"Idempotency-Key": "k1"})
		if got.status != http.StatusBadRequest || got.reason(t) != "UPSTREAM_REJECTED" || got.header.Get("Idempotency-Replayed") != replayed ||
			!strings.Contains(string(got.body), `"upstream":{"message":"no_such_product","status":200}`) ||
			!strings.HasSuffix(got.header.Get("UIM-Charge"), "state=released") {
			t.Errorf("got %d %v %s", got.status, got.header, got.body)
		}
	}
	if got := a.execute(order, call, nil); got.reason(t) != "UPSTREAM_REJECTED" || strings.Contains(string(got.body), "upstream-secret") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := a.execute(order, call, nil); got.status != http.StatusOK || !strings.HasSuffix(got.header.Get("UIM-Charge"), "state=captured") {
		t.Errorf("got %d %v %s", got.status, got.header, got.body)
	}
	for id, state := range g.executions() {
		if !strings.Contains("released captured", state) {
			t.Errorf("%s is %s", id, state)
		}
	}
}
