package daemon_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

const credentials = `auth: {
    headers: {X-Api-Key: canary-auth-header}, query: {api_key: canary-auth-query}, body: {client_secret: canary-auth-body},
    oauth2: {token_url: TOKENS/token, client_id: canary-auth-client, client_secret: "${file:secret.txt}", scopes: [read]}}`

// All credentials in upstream.auth reach only the service. Without an access token nothing is sent or charged.
func TestCredentialsReachOnlyTheService(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		id, secret, _ := r.BasicAuth()
		if down.Load() || id != "canary-auth-client" || secret != "canary-auth-secret" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error":"invalid_client","error_description":"no %s, no %s"}`, id, secret)
			return
		}
		_, _ = fmt.Fprint(w, `{"access_token":"canary-auth-token","token_type":"Bearer","expires_in":3600}`)
	}))
	defer tokens.Close()
	down.Store(true)
	text := strings.Replace(testConfig, `auth: {header: "X-Api-Key: upstream-secret-canary"}`, strings.ReplaceAll(credentials, "TOKENS", tokens.URL), 1)
	g := startGate(t, setup{config: text, files: map[string]string{"secret.txt": "canary-auth-secret\n"}})
	a := g.newAgent("agent-1").agree()
	for range 5 { // five orders would exhaust the credit
		got := a.execute(order, map[string]any{"product_id": "p1"}, nil)
		details, _ := got.json(t)["error"].(map[string]any)["details"].(map[string]any)
		if got.status != http.StatusBadGateway || got.reason(t) != "UPSTREAM_UNREACHABLE" || details["outcome"] != "not_sent" ||
			got.header.Get("UIM-Charge") != "" || strings.Contains(string(got.body), "canary") {
			t.Fatalf("without a token: %d %s %s", got.status, got.header.Get("UIM-Charge"), got.body)
		}
	}
	if n := len(g.upstream.calls()); n != 0 {
		t.Fatalf("the service saw %d calls, want 0", n)
	}
	if !strings.Contains(g.log.String(), "invalid_client") {
		t.Error("the log lacks the cause")
	}
	down.Store(false)
	g.adminDo("POST", "/admin/v1/reload", nil) // creates a new connection to the service
	texts := []string{string(a.execute(search, map[string]any{"query": "lamp"}, nil).body)}
	for range 4 {
		got := a.execute(order, map[string]any{"product_id": "p1"}, nil)
		if got.status != http.StatusOK {
			t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
		}
		texts = append(texts, string(got.body))
	}
	var requests []string
	for _, c := range g.upstream.calls()[:2] {
		parts := []string{c.method, c.uri, c.body, c.header.Get("X-Api-Key"), c.header.Get("Authorization")}
		requests = append(requests, strings.Join(parts, " "))
	}
	if want := []string{
		"GET /products?api_key=canary-auth-query&query=lamp&page=1  canary-auth-header Bearer canary-auth-token",
		`POST /orders?api_key=canary-auth-query {"client_secret":"canary-auth-body","product_id":"p1","quantity":1} ` +
			"canary-auth-header Bearer canary-auth-token",
	}; !slices.Equal(requests, want) {
		t.Errorf("the service saw\n%s\nwant\n%s", strings.Join(requests, "\n"), strings.Join(want, "\n"))
	}
	texts = append(texts, string(g.adminDo("GET", "/metrics", nil).body), string(g.adminDo("GET", "/admin/v1/status", nil).body))
	g.stop()
	for _, text := range append(texts, g.log.String(), g.file("data/audit.jsonl")) {
		if at := strings.Index(text, "canary-auth"); at >= 0 {
			t.Errorf("leaked: …%s…", text[max(0, at-200):min(len(text), at+60)])
		}
	}
}
