// Package observability_test checks the files of deploy/observability: each expression names metrics that a gateway has, and each alert
// fires when a real gateway has the problem. It is a separate module, because Prometheus is far larger than uimgate, which needs only its
// client.
package observability_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	adminToken = "test-admin-token-0123456789abcdef"
	search     = "shop.example:search:v1"
	order      = "shop.example:order:v1"
)

const settings = `
server: {listen: 127.0.0.1:0, per_address: 1000000/second, issue_per_address: 100000/minute}
admin: {listen: 127.0.0.1:0, token: ` + adminToken + `}
billing: {credit: 10000 EUR, newcomers: 10000 EUR}
pat: {limit: 100000/hour, ttl: 24h}
services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: UPSTREAM, timeout: 5s, breaker: {failures: 10000}}
`

const agentsFile = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [
    {"intent_uid": "shop.example:search:v1", "intent_name": "Search", "description": "Search.",
     "input_parameters": [{"name": "query", "type": "string", "required": true}],
     "endpoint": {"url": "https://shop.example/search", "method": "GET"}},
    {"intent_uid": "shop.example:order:v1", "intent_name": "Order", "description": "Order.",
     "input_parameters": [{"name": "product", "type": "string", "required": true}],
     "endpoint": {"url": "https://shop.example/orders", "method": "POST", "content_type": "application/json"}}
  ]
}`

// policyFile makes searches free, and an order cost 0.25 EUR.
const policyFile = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:search:v1", "action": "execute"},
    {"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}
  ]
}`

// A gateway is a whole gateway with a store, and an API behind it that the test controls.
type gateway struct {
	*testing.T
	dir, url, admin string
	api             atomic.Pointer[http.HandlerFunc]
	apiURL          string
	ahead           atomic.Int64 // how far its clocks are ahead
	stop            func()
}

// start runs a gateway until the test ends. The settings are those above, changed by replace, which are pairs of old and new text.
func start(t *testing.T, files map[string]string, replace ...string) *gateway {
	t.Helper()
	g := &gateway{T: t, dir: t.TempDir()}
	g.answer(answerJSON(`{"ok": true}`))
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*g.api.Load())(w, r) }))
	t.Cleanup(api.Close)
	g.apiURL = api.URL
	g.write("agents.json", agentsFile)
	g.write("policy.json", policyFile)
	for name, text := range files {
		g.write(name, text)
	}
	g.configure(replace...)
	cfg, problems := g.load()
	if cfg == nil {
		t.Fatal(problems.Err())
	}
	if filepath.Base(cfg.Data) == "full" {
		fullDisk(t, g.dir)
	}
	sqlitetest.Empty.Copy(t, config.StatePath(cfg.Data))
	began := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan daemon.Addresses, 1), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{
			Config: cfg, Load: g.load, Log: zap.NewNop(), Ready: func(a daemon.Addresses) { ready <- a }, Version: "test", Commit: "test",
			Now:     func() time.Time { return time.Now().Add(time.Duration(g.ahead.Load())) },
			Elapsed: func() time.Duration { return time.Since(began) + time.Duration(g.ahead.Load()) },
		})
	}()
	select {
	case a := <-ready:
		g.url, g.admin = a.Listen, a.Admin
	case err := <-done:
		cancel()
		if refused, ok := errors.AsType[*daemon.ProblemsError](err); ok {
			t.Fatal(refused.Problems)
		}
		t.Fatal(err)
	}
	g.stop = sync.OnceFunc(func() {
		cancel()
		<-done //nolint:errcheck // a gateway that cannot write its audit stream ends with an error
	})
	t.Cleanup(g.stop)
	return g
}

func (g *gateway) load() (*config.Config, config.Problems) {
	return config.Load(filepath.Join(g.dir, "uimgate.yaml"), config.Overrides{
		Blocks: bindings.Blocks(), Env: func(string) (string, bool) { return "", false },
	})
}

func (g *gateway) write(name, text string) {
	g.Helper()
	g.must(os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600))
}

// configure writes the settings, with changes.
func (g *gateway) configure(replace ...string) {
	g.Helper()
	g.write("uimgate.yaml", strings.NewReplacer(append(replace, "UPSTREAM", g.apiURL)...).Replace(settings))
}

func (g *gateway) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// answer sets how the API answers.
func (g *gateway) answer(with http.HandlerFunc) { g.api.Store(&with) }

func answerJSON(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

// fail makes the API answer with a status that is an error.
func (g *gateway) fail() {
	g.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
}

// reload requests a reload, and reports whether the gateway applied the configuration.
func (g *gateway) reload() bool {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), http.MethodPost, g.admin+"/admin/v1/reload", http.NoBody)
	g.must(err)
	r.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := http.DefaultClient.Do(r)
	g.must(err)
	g.must(response.Body.Close())
	return response.StatusCode == http.StatusOK
}

// alter changes the database while the gateway runs.
func (g *gateway) alter(statement string) {
	g.Helper()
	sqlitetest.Alter(g, g.state(), statement)
}

func (g *gateway) state() string { return config.StatePath(filepath.Join(g.dir, "data")) }

// A customer is an agent that has agreed.
type customer struct {
	*agent.Service
	g *gateway
}

// agree makes an agent agree to the policy.
func (g *gateway) agree(id string) (*customer, error) {
	g.Helper()
	key, err := agent.NewKey(keys.EdDSA)
	g.must(err)
	client, err := agent.New(agent.Options{Key: key, AgentID: id, MaxAttempts: 1, AllowInsecure: true, TLS: anyCertificate})
	g.must(err)
	g.Cleanup(client.Close)
	service, err := client.Discover(g.Context(), g.url)
	g.must(err)
	policy, err := service.Policy(g.Context())
	g.must(err)
	_, err = service.Agree(g.Context(), agent.Acceptance{Digest: policy.Digest})
	return &customer{service, g}, err
}

func (g *gateway) customer(id string) *customer {
	g.Helper()
	c, err := g.agree(id)
	g.must(err)
	return c
}

// search makes n free calls. It returns the error of the last.
func (c *customer) search(n int) (err error) {
	for range n {
		_, err = c.Execute(c.g.Context(), search, map[string]any{"query": "lamp"}, agent.ExecuteOptions{})
	}
	return err
}

// order makes a call that costs money.
func (c *customer) order() error { return c.orderOf("lamp") }

func (c *customer) orderOf(product string) error {
	_, err := c.Execute(c.g.Context(), order, map[string]any{"product": product}, agent.ExecuteOptions{})
	return err
}

// scrape reads the metrics as Prometheus does.
func (g *gateway) scrape() (string, error) {
	r, err := http.NewRequestWithContext(g.Context(), http.MethodGet, g.admin+"/metrics", http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := insecure.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return string(text), err
}
