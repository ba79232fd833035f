package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// sent sends a request with a host. header has pairs of name and value; a name may occur several times.
func sent(g *gatetest.Gate, method, path, host string, header ...string) gatetest.Answer {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), method, g.URL+path, strings.NewReader("{}"))
	g.Must(err)
	r.Host = host
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return g.Send(r)
}

// With DNS rebinding, a web page can make a browser on this machine send requests to a loopback listener, with the page's host. All routes
// and doors must refuse them.
func TestAForeignHostReachesNothingOnALoopbackListener(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, "services:\n"+
		"- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, doors: {uagents: {}}}\n")
	for _, route := range []string{
		"GET /", "GET /agents.json", "GET /.well-known/agents.json", "GET /openapi.json", "GET /errors", "GET /api/policy",
		"GET /api/intents/search", "GET /api/intents/" + gatetest.Searching, "GET /.well-known/jwks.json", "POST /api/pat/issue",
		"POST /api/pat/renew", "POST /api/pat/revoke", "POST /api/pat/introspect", "POST /api/intents/execute", "POST /uim/execute",
		"POST /mcp", "OPTIONS /mcp", "POST /a2a", "GET /.well-known/agent-card.json", "POST /submit", "GET /oauth/authorize",
		"POST /oauth/token", "GET /.well-known/oauth-authorization-server", "GET /.well-known/ai-catalog.json", "GET /nothing",
	} {
		method, path, _ := strings.Cut(route, " ")
		for _, host := range []string{"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example"} {
			g.Refuses(sent(g, method, path, host), http.StatusForbidden, "ORIGIN_NOT_ALLOWED")
		}
		for _, host := range []string{"localhost", "127.0.0.1:8080", "[::1]:1"} {
			if a := sent(g, method, path, host); a.Status == http.StatusForbidden {
				t.Errorf("%s as %s: %d %.200s", route, host, a.Status, a.Body)
			}
		}
	}
}

// The last X-Forwarded-Host counts, because the proxy added it. A list of hosts in it is refused.
func TestForwardedHost(t *testing.T) {
	t.Parallel()
	const (
		files    = "agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n"
		services = "services:\n" +
			"- {id: default, hosts: [one.example], public_url: 'https://one.example', " + files +
			"- {id: two, hosts: [two.example], public_url: 'https://two.example', issuer: two.example, " + files
	)
	const server = "server: {issue_per_address: 1000/second, per_address: 10000/second, trusted_proxies: ["
	type row struct {
		host      string
		forwarded []string
		status    int
		says      string
	}
	for trusted, rows := range map[string][]row{
		"127.0.0.0/8": {
			{"one.example", nil, http.StatusOK, "one.example"},
			{"one.example", []string{"two.example"}, http.StatusOK, "two.example"},
			{"one.example", []string{" two.example:443 "}, http.StatusOK, "two.example"},
			{"x.example", []string{"one.example", "two.example"}, http.StatusOK, "two.example"},
			{"x.example", []string{"evil.example, one.example", "two.example"}, http.StatusOK, "two.example"},
			{"one.example", []string{"one.example, two.example"}, http.StatusBadRequest, "MALFORMED_REQUEST"},
			{"one.example", []string{"two.example", "one.example,"}, http.StatusBadRequest, "MALFORMED_REQUEST"},
			{"one.example", []string{"two.example", "evil.example"}, http.StatusNotFound, "UNKNOWN_HOST"},
			{"one.example", []string{"two.example", ""}, http.StatusOK, "one.example"},
		},
		"203.0.113.9": { // the peer is not a trusted proxy
			{"one.example", []string{"two.example"}, http.StatusOK, "one.example"},
			{"one.example", []string{"one.example, two.example"}, http.StatusOK, "one.example"},
		},
	} {
		g := gatetest.New(t, server+trusted+"]}\n"+services)
		for _, row := range rows {
			var header []string
			for _, value := range row.forwarded {
				header = append(header, "X-Forwarded-Host", value)
			}
			a := sent(g, http.MethodGet, "/agents.json", row.host, header...)
			if a.Status != row.status || !strings.Contains(string(a.Body), row.says) {
				t.Errorf("%s, forwarded %q by %s: %d %.300s", row.host, row.forwarded, trusted, a.Status, a.Body)
			}
		}
	}
}
