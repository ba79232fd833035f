package gateway_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore"
)

const (
	adminToken = "admin-token-canary-0123456789"
	searching  = "shop.example:search:v1"
	ordering   = "shop.example:order:v1"
)

const adminAgentsFile = `{
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

const adminPolicyFile = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:search:v1", "action": "execute"},
    {"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}
  ]
}`

// adminGate is a whole gateway with its operator's listener, on a real store and a clock set by hand.
type adminGate struct {
	*testing.T
	mu        sync.Mutex
	clock     time.Time
	dir       string
	store     *sqlstore.Store
	view      *pat.View
	directory *service.Directory
	executor  *execute.Executor
	operator  *gateway.Admin
	settings  gateway.AdminConfig // of operator
	public    *httptest.Server
	admin     *httptest.Server
	logs      *observer.ObservedLogs
	problems  config.Problems // what the next reload finds
	upstream  func(http.ResponseWriter, *http.Request)
}

// administer answers on the operator's listener with another token, and without reloads.
func (g *adminGate) administer(token string) {
	settings := g.settings
	settings.Token, settings.Reload = token, nil
	g.admin.Config.Handler = gateway.NewAdmin(settings).Handler()
}

func (g *adminGate) now() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clock
}

func (g *adminGate) pass(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock = g.clock.Add(d)
}

// later lets time pass and brings the view up to date, as its own goroutine would.
func (g *adminGate) later(d time.Duration) {
	g.Helper()
	g.pass(d)
	g.must(g.view.Refresh(g.Context()))
}

func (g *adminGate) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// newAdminGate builds one; prepare may write other files than the usual ones.
func newAdminGate(t *testing.T, settings string, prepare ...func(*adminGate)) *adminGate {
	t.Helper()
	g := &adminGate{T: t, clock: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), dir: t.TempDir()}
	g.upstream = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) }
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.upstream(w, r) }))
	t.Cleanup(upstream.Close)
	if settings == "" {
		settings = "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n"
	}
	g.write("agents.json", adminAgentsFile)
	g.write("policy.json", adminPolicyFile)
	for _, write := range prepare {
		write(g)
	}
	g.write("uimgate.yaml", "billing: {credit: 100 EUR}\nserver: {issue_per_address: 1000/second, per_address: 10000/second}\n"+strings.ReplaceAll(settings, "UPSTREAM", upstream.URL))
	cfg, found := config.Load(filepath.Join(g.dir, "uimgate.yaml"), config.Overrides{Env: func(string) (string, bool) { return "", false }, Data: filepath.Join(g.dir, "data")})
	if cfg == nil {
		t.Fatal(found.Err())
	}
	loaded, found := service.Load(t.Context(), cfg, g.now)
	if loaded == nil {
		t.Fatal(found.Err())
	}
	data, err := config.OpenDataDir(cfg.Data)
	g.must(err)
	t.Cleanup(func() { g.must(data.Close()) })
	g.store, err = sqlstore.Open(t.Context(), data.StatePath(), sqlstore.Options{Now: g.now})
	g.must(err)
	t.Cleanup(func() { g.must(g.store.Close()) })
	keys, err := pat.OpenKeyring(t.Context(), pat.KeyringConfig{Store: g.store, Files: data.Keys(), Algorithm: "EdDSA", Overlap: 2 * time.Hour, Now: g.now})
	g.must(err)
	g.view = pat.NewView(g.store, keys, g.now)
	g.must(g.view.Refresh(t.Context()))
	core, logs := observer.New(zapcore.DebugLevel)
	g.logs = logs
	log, metrics := zap.New(core), record.NewMetrics()
	g.directory, err = service.Open(t.Context(), service.State{Agreements: g.store, Policies: g.store, Keys: keys, View: g.view, Log: log, Now: g.now}, loaded)
	g.must(err)
	g.executor = execute.New(execute.Config{
		Store: g.store, Agents: g.store, Revocations: g.view, Recorder: record.Recorders{metrics, record.NewAudit(io.Discard, false)}, Now: g.now,
	})
	server := gateway.New(gateway.Config{
		Directory: g.directory, Executor: g.executor, Keys: keys, Metrics: metrics, Log: log, Now: g.now,
		PerAddress: cfg.Server.PerAddress, IssuePerAddress: cfg.Server.IssuePerAddress,
	})
	g.public = httptest.NewServer(server.Handler())
	t.Cleanup(g.public.Close)
	g.settings = gateway.AdminConfig{
		Directory: g.directory, Agreements: g.store, Operations: g.store, Keys: keys, View: g.view, Metrics: metrics, Log: log, Now: g.now,
		Token: adminToken, Reload: func(context.Context) config.Problems { return g.problems },
	}
	g.operator = gateway.NewAdmin(g.settings)
	g.admin = httptest.NewServer(g.operator.Handler())
	t.Cleanup(g.admin.Close)
	return g
}

func (g *adminGate) write(name, text string) {
	g.Helper()
	g.must(os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600))
}

// An adminAnswer is what the admin API said.
type adminAnswer struct {
	status int
	header http.Header
	body   []byte
}

func (g *adminGate) send(r *http.Request) adminAnswer {
	g.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	g.must(err)
	body, err := io.ReadAll(resp.Body)
	g.must(err)
	g.must(resp.Body.Close())
	return adminAnswer{resp.StatusCode, resp.Header, body}
}

func (g *adminGate) request(method, path string, body any) *http.Request {
	g.Helper()
	var text io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		text = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(body)
		g.must(err)
		text = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(g.Context(), method, g.admin.URL+path, text)
	g.must(err)
	r.Header.Set("Authorization", "Bearer "+adminToken)
	if text != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// do calls the admin API with the token.
func (g *adminGate) do(method, path string, body any) adminAnswer {
	g.Helper()
	return g.send(g.request(method, "/admin/v1"+path, body))
}

// ask expects 200 and reads the answer.
func ask[T any](g *adminGate, method, path string, body any) T {
	g.Helper()
	a := g.do(method, path, body)
	if a.status != http.StatusOK {
		g.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
	}
	return decode[T](g, a)
}

func decode[T any](g *adminGate, a adminAnswer) T {
	g.Helper()
	var v T
	dec := json.NewDecoder(bytes.NewReader(a.body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		g.Fatalf("%v in %s", err, a.body)
	}
	return v
}

// refuses expects the one envelope with this reason.
func (a adminAnswer) refuses(g *adminGate, status int, reason string) {
	g.Helper()
	var envelope struct {
		Error struct {
			Code    string         `json:"code"`
			Message string         `json:"message"`
			Details map[string]any `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(a.body, &envelope); err != nil || a.header.Get("Content-Type") != "application/json" {
		g.Fatalf("%d %s %q: no envelope", a.status, a.header.Get("Content-Type"), a.body)
	}
	e := envelope.Error
	if a.status != status || e.Details["reason"] != reason || e.Code == "" || e.Message == "" || e.Details["suggestion"] == "" {
		g.Fatalf("%d %s; want %d %s with code, message and suggestion", a.status, a.body, status, reason)
	}
}

// An adminAgent is an agent with a key and a PAT.
type adminAgent struct {
	id    string
	key   ed25519.PrivateKey
	token string
	jkt   string
}

// stranger is an agent that has agreed to nothing yet.
func (g *adminGate) stranger(id string) *adminAgent {
	g.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	g.must(err)
	key, err := pat.NewKey(public)
	g.must(err)
	return &adminAgent{id: id, key: private, jkt: key.Thumbprint()}
}

// agree makes a new agent agree to the policy offered. The answer's status is told.
func (g *adminGate) agree(id string) (*adminAgent, int) {
	g.Helper()
	a := g.stranger(id)
	return a, g.agreeAgain(a)
}

func (g *adminGate) agreeAgain(a *adminAgent) int {
	g.Helper()
	part := func(v any) string {
		text, err := json.Marshal(v)
		g.must(err)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce)
	service := g.directory.Current().Service("default")
	offer := service.Offer()
	input := part(map[string]any{"typ": "uim-agreement+jwt", "alg": "EdDSA"}) + "." + part(map[string]any{
		"iss": a.id, "aud": service.Issuer, "iat": g.now().Unix(), "jti": fmt.Sprintf("%x", nonce), "policy": map[string]any{"uid": offer.UID, "digest": offer.Digest},
	})
	signed := input + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(a.key, []byte(input)))
	key, err := pat.NewKey(a.key.Public())
	g.must(err)
	answer := g.publicDo("/api/pat/issue", "", map[string]any{
		"agent_id": a.id, "agent_public_key": base64.StdEncoding.EncodeToString(key.SPKI()), "signed_policy": signed,
	})
	var body struct {
		PAT string `json:"uim-pat"`
	}
	_ = json.Unmarshal(answer.body, &body)
	if answer.status == http.StatusOK && body.PAT == "" {
		g.Fatalf("no PAT in %s", answer.body)
	}
	a.token = body.PAT
	return answer.status
}

func (g *adminGate) agreed(id string) *adminAgent {
	g.Helper()
	a, status := g.agree(id)
	if status != http.StatusOK {
		g.Fatalf("%s agrees: %d", id, status)
	}
	return a
}

func (g *adminGate) publicDo(path, token string, body any, header ...string) adminAnswer {
	g.Helper()
	text, err := json.Marshal(body)
	g.must(err)
	r, err := http.NewRequestWithContext(g.Context(), http.MethodPost, g.public.URL+path, bytes.NewReader(text))
	g.must(err)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return g.send(r)
}

func (g *adminGate) execute(a *adminAgent, intent string, header ...string) adminAnswer {
	g.Helper()
	parameters := map[string]any{"query": "lamp"}
	if intent == ordering {
		parameters = map[string]any{"product": "lamp"}
	}
	return g.publicDo("/api/intents/execute", a.token, map[string]any{"intent_uid": intent, "parameters": parameters}, header...)
}

// breakOff makes the upstream take the call and then go away.
func (g *adminGate) breakOff() {
	g.upstream = func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			g.Error(err)
			return
		}
		_ = c.Close()
	}
}

func items[T any](g *adminGate, path string) []T {
	g.Helper()
	return ask[gateway.AdminPage[T]](g, "GET", path, nil).Items
}

func names[T any](list []T, name func(T) string) []string {
	out := make([]string, 0, len(list))
	for _, v := range list {
		out = append(out, name(v))
	}
	slices.Sort(out)
	return out
}
