package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/verify"
	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
)

const gatewayAgents = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "uim-compliance": {"standards": ["ISO27001"], "regional-compliance": {"EU": "GDPR"}, "notes": "None."},
  "uim-license": "https://uimprotocol.com/licenses/uim-by-nc-v1.0",
  "intents": [
    {"intent_uid": "shop.example:search-products:v1", "intent_name": "SearchProducts", "description": "Search products.",
     "input_parameters": [
       {"name": "query", "type": "string", "required": true, "minLength": 2, "maxLength": 100, "examples": ["lamp"],
        "description": "Words"},
       {"name": "page", "type": "integer", "minimum": 1, "default": 1, "description": "Page"}],
     "output_parameters": [{"name": "products", "type": "array", "required": true}, {"name": "total", "type": "integer"}],
     "endpoint": {"url": "https://shop.example/products", "method": "GET"}, "tags": ["shop", "search"], "category": "shopping"},
    {"intent_uid": "shop.example:report:v1", "intent_name": "Report", "description": "A report that is paid for.",
     "input_parameters": [], "output_parameters": [{"name": "products", "type": "array"}],
     "endpoint": {"url": "https://shop.example/report", "method": "GET"}, "tags": ["paid"]},
    {"intent_uid": "shop.example:place-order:v1", "intent_name": "PlaceOrder", "description": "Order a product.",
     "input_parameters": [{"name": "product_id", "type": "string", "required": true, "examples": ["p1"], "description": "Which"}],
     "output_parameters": [{"name": "order_id", "type": "string", "required": true}],
     "endpoint": {"url": "https://shop.example/orders", "method": "POST", "content_type": "application/json"}, "tags": ["orders"]}
  ]
}`

const gatewayPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:search-products:v1", "action": "execute",
     "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 1000, "unit": "hour"}]},
    {"target": "shop.example:report:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]},
    {"target": "shop.example:place-order:v1", "action": "execute"}
  ]
}`

// A gate is a whole gateway behind a proxy that may change its responses. Its documents name the address of the proxy.
type gate struct {
	url      string // public address, that of the proxy
	listen   string // address of the gateway itself
	upstream atomic.Int64
	other    atomic.Int64 // upstream calls to intents that are not safe and free
}

// through starts a server for h, and redirects to it the requests for the public address of the gate.
func (g *gate) through(t *testing.T, h http.Handler) func(http.RoundTripper) http.RoundTripper {
	t.Helper()
	other := httptest.NewServer(h)
	t.Cleanup(other.Close)
	public, instead := strings.TrimPrefix(g.url, "http://"), strings.TrimPrefix(other.URL, "http://")
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != public {
				return next.RoundTrip(r)
			}
			changed := r.Clone(r.Context())
			changed.URL.Host, changed.Host = instead, public
			response, err := next.RoundTrip(changed)
			if err == nil {
				response.Request = r
			}
			return response, err
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// startGate runs a gateway until the test ends. between returns the proxy for the gateway's own address.
func startGate(t *testing.T, issuePerMinute int, between func(gateway string) http.Handler) *gate {
	t.Helper()
	g := &gate{}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.upstream.Add(1)
		if r.URL.Path != "/products" {
			g.other.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"products":[{"id":"p1"}],"total":1,"order_id":"o-1"}`)
	}))
	t.Cleanup(upstream.Close)
	var handler atomic.Pointer[http.Handler]
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*handler.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	g.url = front.URL

	dir := t.TempDir()
	for name, text := range map[string]string{
		"agents.json": gatewayAgents, "policy.json": gatewayPolicy,
		"uimgate.yaml": fmt.Sprintf(`
server: {listen: 127.0.0.1:0, per_address: 100000/second, issue_per_address: %d/minute}
admin: {listen: 127.0.0.1:0, token: test-admin-token-0123456789abcdef}
billing: {credit: 1 EUR, newcomers: 1 EUR}
services:
- agents_file: agents.json
  policy_file: policy.json
  public_url: %s
  upstream: {url: %s}
  doors: {uagents: {}}
`, issuePerMinute, front.URL, upstream.URL),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func() (*config.Config, config.Problems) {
		return config.Load(filepath.Join(dir, "uimgate.yaml"), config.Overrides{Blocks: bindings.Blocks(), Env: func(string) (string, bool) { return "", false }})
	}
	cfg, problems := load()
	if cfg == nil {
		t.Fatal(problems)
	}
	sqlitetest.Empty.Copy(t, config.StatePath(cfg.Data))
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan daemon.Addresses, 1), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{
			Config: cfg, Load: load, Log: zap.NewNop(), Now: time.Now, Ready: func(a daemon.Addresses) { ready <- a },
		})
	}()
	t.Cleanup(cancel)
	select {
	case a := <-ready:
		g.listen = a.Listen
		h := between(a.Listen)
		handler.Store(&h)
	case err := <-done:
		if refused, ok := errors.AsType[*daemon.ProblemsError](err); ok {
			t.Fatal(refused.Problems)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return g
}

// run verifies a service and returns the report.
func run(t *testing.T, o verify.Options) verify.Report {
	t.Helper()
	r, err := verify.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// failures returns the ids of the failed checks.
func failures(r verify.Report) []string {
	var out []string
	for _, c := range r.Checks {
		if c.Failed() {
			out = append(out, c.ID)
		}
	}
	return out
}

func find(t *testing.T, r verify.Report, id string) verify.Check {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c verify.Check) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no check %s", id)
	}
	return r.Checks[i]
}

func table(r verify.Report) string {
	var b strings.Builder
	for _, c := range r.Checks {
		if c.Outcome == verify.Holds {
			continue
		}
		fmt.Fprintf(&b, "%-8s %-6s %-22s %s\n", c.Outcome, c.Level, c.ID, c.Detail)
	}
	return b.String()
}

// mayBeSkipped lists the checks that a conforming service on a loopback address does not allow.
var mayBeSkipped = []string{"dns-agents-file", "dns-policy-file", "dns-agrees", "intent-namespace", "pat-expired"}

func TestGatewayConforms(t *testing.T) {
	t.Parallel()
	g := startGate(t, 100, passing)
	r := run(t, verify.Options{Target: g.url, Agree: true})
	for _, c := range r.Checks {
		if c.Outcome != verify.Holds && (c.Outcome != verify.Skipped || !slices.Contains(mayBeSkipped, c.ID)) {
			t.Errorf("%s is %s: %s", c.ID, c.Outcome, c.Detail)
		}
	}
	if !r.Passed() || !r.Complete {
		t.Error(table(r))
	}
	// One call through each of HTTP, MCP and A2A.
	if g.upstream.Load() != 3 || g.other.Load() != 0 {
		t.Errorf("%d calls reached the upstream, %d of them of intents that must not be tried", g.upstream.Load(), g.other.Load())
	}
}

func TestNothingSignedWithoutAgree(t *testing.T) {
	t.Parallel()
	var posted atomic.Int64
	g := startGate(t, 100, func(gateway string) http.Handler {
		next := passing(gateway)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/pat/") {
				body := readAll(t, r)
				if strings.Contains(body, "signed_policy") {
					posted.Add(1)
				}
			}
			next.ServeHTTP(w, r)
		})
	})
	r := run(t, verify.Options{Target: g.url})
	if c := find(t, r, "pat-issue"); c.Outcome != verify.Skipped || !strings.Contains(c.Detail, "--allow-agree") {
		t.Errorf("got %+v; want Outcome %v and Detail containing %q", c, verify.Skipped, "--allow-agree")
	}
	if posted.Load() != 0 || g.upstream.Load() != 0 {
		t.Error("verify agreed or called an intent")
	}
	if len(failures(r)) > 0 || !r.Passed() {
		t.Error(table(r))
	}
}

// The limit admits enough agreements at once for one run. A second run sleeps for Retry-After. Here no time passes, so the gateway
// refuses again, and the run skips the checks.
func TestAgreementRetry(t *testing.T) {
	t.Parallel()
	g := startGate(t, 7, passing)
	var slept time.Duration
	o := verify.Options{Target: g.url, Agree: true, Client: agent.Options{Sleep: func(ctx context.Context, d time.Duration) error {
		slept += d
		return ctx.Err()
	}}}
	if r := run(t, o); len(failures(r)) > 0 || slept > 0 {
		t.Error(slept, table(r))
	}
	r := run(t, o)
	if len(failures(r)) > 0 || slept == 0 || slept > 2*time.Minute || find(t, r, "pat-issue").Outcome != verify.Skipped {
		t.Error(slept, table(r))
	}
}
