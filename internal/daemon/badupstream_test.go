package daemon_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// The agent gets the right error and the right charge if the upstream misbehaves.
func TestBadUpstreams(t *testing.T) {
	jsonAnswer := func(w http.ResponseWriter, status int, body string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		status  int
		reason  string
		outcome string
		state   string
		message string // the upstream's message, if the agent may see it
	}{
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 504, "UPSTREAM_TIMEOUT", "unknown", "pending", ""},
		{
			"answers 500", func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w, 500, `{"message":"secret stack"}`) }, 502, "UPSTREAM_ERROR",
			"failed", "released", "",
		},
		{
			"answers 503", func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w, 503, `{}`) }, 502, "UPSTREAM_ERROR", "failed", "released",
			"",
		},
		{"answers half a body", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"order_id":`)
		}, 502, "UPSTREAM_ERROR", "unknown", "pending", ""},
		{"answers HTML", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<h1>hello</h1>")
		}, 502, "RESPONSE_INVALID", "done", "released", ""},
		{"answers 1 GB", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.Copy(w, io.LimitReader(zeros{}, 1<<30))
		}, 502, "RESPONSE_INVALID", "done", "released", ""},
		{
			"lacks a required output", func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w, 200, `{"other":1}`) }, 502, "RESPONSE_INVALID",
			"done", "released", "",
		},
		{"redirects elsewhere", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://evil.example/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, 502, "UPSTREAM_ERROR", "failed", "released", ""},
		{
			"rejects the parameters", func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w, 422, `{"error":"no such product"}`) }, 400,
			"UPSTREAM_REJECTED", "failed", "released", "no such product",
		},
		{
			"does not find", func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w, 404, `{}`) }, 404, "UPSTREAM_REJECTED", "failed",
			"released", "",
		},
		{
			"conflicts", func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w, 409, `{"detail":"sold out"}`) }, 409, "UPSTREAM_REJECTED",
			"failed", "released", "sold out",
		},
		{
			"refuses the operator's credential", func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w, 401, `{"message":"bad key"}`) }, 502,
			"UPSTREAM_ERROR", "failed", "released", "",
		},
		{"asks for a pause", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			jsonAnswer(w, 429, `{}`)
		}, 503, "UPSTREAM_BUSY", "failed", "released", ""},
		{"refuses connections", nil, 502, "UPSTREAM_UNREACHABLE", "not_sent", "released", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := startGate(t, setup{upstream: orRefuse(tt.handler), config: strings.Replace(testConfig, "timeout: 2s", "timeout: 300ms", 1)})
			if tt.handler == nil {
				g.upstream.server.Close()
			}
			a := g.newAgent("agent-1").agree()
			got := a.execute(order, map[string]any{"product_id": "canary-parameter"}, nil)
			details, _ := got.json(t)["error"].(map[string]any)["details"].(map[string]any)
			if got.status != tt.status || got.reason(t) != tt.reason || fmt.Sprint(details["outcome"]) != tt.outcome {
				t.Errorf("%d %s; want %d %s %s", got.status, got.body, tt.status, tt.reason, tt.outcome)
			}
			if charge := got.header.Get("UIM-Charge"); !strings.HasPrefix(charge, "0.25 EUR; id=") ||
				!strings.HasSuffix(charge, "; state="+tt.state) {
				t.Errorf("UIM-Charge = %q, want state %s", charge, tt.state)
			}
			if tt.reason == "UPSTREAM_BUSY" && got.header.Get("Retry-After") != "7" {
				t.Errorf("Retry-After = %q", got.header.Get("Retry-After"))
			}
			for _, secret := range []string{g.upstream.server.URL, "secret stack", "bad key", "evil.example", "upstream-secret-canary"} {
				if strings.Contains(string(got.body), secret) {
					t.Errorf("the response contains %q: %s", secret, got.body)
				}
			}
			if tt.message != "" && !strings.Contains(string(got.body), tt.message) {
				t.Errorf("the response lacks the upstream's message: %s", got.body)
			}
			g.stop()
			for _, secret := range []string{"canary-parameter", "upstream-secret-canary", a.token, "secret stack"} {
				if strings.Contains(g.log.String(), secret) {
					t.Errorf("the log contains %q", secret)
				}
			}
		})
	}
}

func orRefuse(h http.HandlerFunc) http.HandlerFunc {
	if h == nil {
		return func(http.ResponseWriter, *http.Request) {}
	}
	return h
}

// The gateway rejects invalid requests that the client of net/http cannot send.
func TestRawRequests(t *testing.T) {
	g := startGate(t,
		setup{config: strings.Replace(testConfig, "per_address: 1000000/second", "per_address: 1000000/second, read_timeout: 300ms", 1)})
	a := g.newAgent("agent-1").agree()
	body := `{"intent_uid":"` + search + `","parameters":{"query":"lamp"}}`
	request := func(extra string, length int, body string) string {
		return fmt.Sprintf("POST /api/intents/execute HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s", a.token, extra, length, body)
	}
	for _, tt := range []struct{ name, raw, status string }{
		{"two PATs", request("Authorization: Bearer x\r\n", len(body), body), "400"},
		{"two idempotency keys", request("Idempotency-Key: a\r\nIdempotency-Key: b\r\n", len(body), body), "400"},
		{"two proofs", request("UIM-Proof: a\r\nUIM-Proof: b\r\n", len(body), body), "400"},
		{"a body that never arrives", request("", len(body)+10, body), "408"},
		{
			"headers without end",
			"GET /agents.json HTTP/1.1\r\nHost: 127.0.0.1\r\n" + strings.Repeat("X-Filler: "+strings.Repeat("y", 1000)+"\r\n", 200) + "\r\n", "431",
		},
		{"a bad escape in the path", "GET /%zz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "400"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go func() { _, _ = io.WriteString(conn, tt.raw) }()
			head := make([]byte, 12)
			if _, err := io.ReadFull(conn, head); err != nil || string(head[9:]) != tt.status {
				t.Errorf("%q, %v; want status %s", head, err, tt.status)
			}
		})
	}
	if n := len(g.upstream.calls()); n != 0 {
		t.Errorf("%d calls reached the upstream, want 0", n)
	}
}
