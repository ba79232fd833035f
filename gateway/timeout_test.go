package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// An intent has a time limit of its own, which agents find in agents.json, in MCP tools and in the agent card.
func TestTimeoutOfOneIntent(t *testing.T) {
	g := gatetest.New(t, `services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: UPSTREAM, timeout: 10m}
  intents: {"`+gatetest.Ordering+`": {proof: optional, timeout: 30ms}}
  doors: {a2a: {}}
billing: {credit: 10 EUR}
`)
	a := g.Agreed("agent-1")
	ended := make(chan struct{})
	g.Upstream = func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then, the server does not notice that the connection ends
		<-r.Context().Done()
		close(ended)
	}
	got := g.Execute(a, gatetest.Ordering)
	<-ended
	g.Refuses(got, http.StatusGatewayTimeout, "UPSTREAM_TIMEOUT")

	for path, want := range map[string][]string{
		"/agents.json":                       {`"x-timeout": 600}`, `"x-timeout": 1}`},
		"/api/intents/" + gatetest.Searching: {`"x-timeout": 600`},
		"/api/intents/search":                {`"x-timeout":600}`, `"x-timeout":1}`},
		"/.well-known/agent-card.json":       {`"timeouts":{"shop.example:order:v1":1,"shop.example:search:v1":600}`},
	} {
		for _, text := range want {
			if body := string(g.Get(path).Body); !strings.Contains(body, text) {
				t.Errorf("%s: %s\nwant %s", path, body, text)
			}
		}
	}
}
