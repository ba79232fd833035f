package daemon_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
	"github.com/uimgate/uimgate/internal/strictjson"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	"github.com/uimgate/uimgate/pat"
)

// A gate is a complete gateway with a real store, a real upstream and a readable log.
type gate struct {
	t        testing.TB
	dir      string
	url      string
	admin    string
	probes   string // telemetry.listen; empty: none
	doors    map[string]map[string]string
	upstream *upstream
	log      *safeBuffer
	cancel   context.CancelFunc
	done     chan error
	reload   chan struct{}
}

type setup struct {
	agents, policy, config string // empty: the shop's
	files                  map[string]string
	changed                map[string]string // files that change after the process has read them
	upstream               http.HandlerFunc
	now                    func() time.Time
	dir                    string // empty: a new one
	slack, renewals        time.Duration
	notices, export        time.Duration
	environment            map[string]string // for the OTEL_* variables
}

const adminToken = "test-admin-token-0123456789abcdef"

// startGate runs a gateway until the test ends. In the configuration, UPSTREAM is replaced with the address of the upstream.
func startGate(tb testing.TB, s setup) *gate {
	tb.Helper()
	g := &gate{t: tb, dir: s.dir, log: &safeBuffer{}, reload: make(chan struct{}, 1), upstream: newUpstream(tb, s.upstream)}
	if g.dir == "" {
		g.dir = tb.TempDir()
	}
	g.write("agents.json", orElse(s.agents, testAgents))
	g.write("policy.json", orElse(s.policy, testPolicy))
	g.write("uimgate.yaml", strings.ReplaceAll(orElse(s.config, testConfig), "UPSTREAM", g.upstream.server.URL))
	for name, text := range s.files {
		g.write(name, text)
	}
	now := s.now
	if now == nil {
		now = time.Now
	}
	cfg, problems := g.load()
	if cfg == nil {
		tb.Fatalf("configuration: %v", problems)
	}
	for name, text := range s.changed {
		g.write(name, text)
	}
	if cfg.Store.Engine == config.SQLite {
		sqlitetest.Empty.Copy(tb, config.StatePath(cfg.Data))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan daemon.Addresses, 1)
	g.cancel, g.done = cancel, make(chan error, 1)
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(g.log), zapcore.DebugLevel)
	options := daemon.Options{
		Config: cfg, Load: g.load, Reload: g.reload, Log: zap.New(core), Now: now, Ready: func(a daemon.Addresses) { ready <- a },
		Environment: func(name string) string { return s.environment[name] },
	}
	options.Slack(s.slack)
	options.Renewals(s.renewals)
	options.NoticesEvery(s.notices)
	options.ExportEvery(s.export)
	options.Park(time.Millisecond) // all tests must pass with parked connections
	go func() { g.done <- daemon.Run(ctx, options) }()
	select {
	case a := <-ready:
		g.url, g.admin, g.probes, g.doors = a.Listen, a.Admin, a.Telemetry, a.Doors
	case err := <-g.done:
		var refused *daemon.ProblemsError
		if asProblems(err, &refused) {
			tb.Fatalf("refused: %v", refused.Problems)
		}
		tb.Fatalf("the gateway ended: %v", err)
	}
	tb.Cleanup(g.stop)
	return g
}

// refusal returns the error of a gateway that must not start.
func refusal(tb testing.TB, s setup) string {
	tb.Helper()
	g := &gate{t: tb, dir: tb.TempDir()}
	g.write("agents.json", orElse(s.agents, testAgents))
	g.write("policy.json", orElse(s.policy, testPolicy))
	g.write("uimgate.yaml", strings.ReplaceAll(orElse(s.config, testConfig), "UPSTREAM", "http://127.0.0.1:9"))
	for name, text := range s.files {
		g.write(name, text)
	}
	cfg, problems := g.load()
	if cfg == nil {
		return problems.Err().Error()
	}
	err := daemon.Run(tb.Context(), daemon.Options{Config: cfg, Load: g.load, Log: zap.NewNop(), Now: time.Now})
	var refused *daemon.ProblemsError
	if !asProblems(err, &refused) {
		tb.Fatalf("the gateway started, or ended with %v", err)
	}
	return refused.Problems.Err().Error()
}

func (g *gate) load() (*config.Config, config.Problems) {
	return config.Load(filepath.Join(g.dir, "uimgate.yaml"), config.Overrides{Blocks: bindings.Blocks(), Env: func(string) (string, bool) { return "", false }})
}

func (g *gate) stop() {
	g.cancel()
	if g.done == nil {
		return
	}
	if err := <-g.done; err != nil {
		g.t.Errorf("the gateway ended with %v", err)
	}
	g.done = nil
}

func (g *gate) write(name, text string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// An answer is a complete response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) json(tb testing.TB) map[string]any {
	tb.Helper()
	tree, err := strictjson.DecodeObject(a.body)
	if err != nil {
		tb.Fatalf("%d %.300s: %v", a.status, a.body, err)
	}
	return tree
}

// reason returns details.reason of the error envelope.
func (a answer) reason(tb testing.TB) string {
	tb.Helper()
	e, _ := a.json(tb)["error"].(map[string]any)
	details, _ := e["details"].(map[string]any)
	reason, _ := details["reason"].(string)
	if code, _ := e["code"].(string); code == "" || e["message"] == "" {
		tb.Errorf("not the error envelope: %s", a.body)
	}
	return reason
}

// left returns r of the named limit in the RateLimit field, or -1 if there is none.
func left(a answer, name string) int {
	n := -1
	for item := range strings.SplitSeq(a.header.Get("RateLimit"), ", ") {
		if rest, ok := strings.CutPrefix(item, `"`+name+`";r=`); ok {
			_, _ = fmt.Sscanf(rest, "%d", &n)
		}
	}
	return n
}

type header map[string]string

func (g *gate) do(method, path string, body []byte, h header) answer {
	g.t.Helper()
	a, err := try(g.t.Context(), method, g.url+path, body, h)
	if err != nil {
		g.t.Fatal(err)
	}
	return a
}

func (g *gate) adminDo(method, path string, body any) answer {
	g.t.Helper()
	var text []byte
	if body != nil {
		text = mustJSON(g.t, body)
	}
	a, err := try(g.t.Context(), method, g.admin+path, text,
		header{"Authorization": "Bearer " + adminToken, "Content-Type": "application/json"})
	if err != nil {
		g.t.Fatal(err)
	}
	return a
}

func try(ctx context.Context, method, url string, body []byte, h header) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for name, value := range h {
		r.Header.Set(name, value)
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	response, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, text}, err
}

var client = &http.Client{
	Transport:     &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// An agent has a key and, once it has agreed, a PAT.
type agent struct {
	g     *gate
	id    string
	key   ed25519.PrivateKey
	token string
}

func (g *gate) newAgent(id string) *agent {
	g.t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		g.t.Fatal(err)
	}
	return &agent{g: g, id: id, key: key}
}

func (a *agent) publicKey() string {
	return base64.RawURLEncoding.EncodeToString(a.key.Public().(ed25519.PublicKey))
}

// agreement signs a new agreement to the policy that is currently offered.
func (a *agent) agreement(change func(*pat.AgreementClaims)) string {
	a.g.t.Helper()
	policy := a.g.do("GET", "/api/policy", nil, nil)
	digest, err := pat.PolicyDigest(policy.body)
	if err != nil {
		a.g.t.Fatal(err)
	}
	uid, _ := policy.json(a.g.t)["uid"].(string)
	c := pat.AgreementClaims{
		AgentID: pat.AgentID(a.id), Audience: "shop.example", URL: a.g.url + "/api/pat/issue", IssuedAt: time.Now(),
		PolicyUID: uid, PolicyDigest: digest,
	}
	if change != nil {
		change(&c)
	}
	signed, err := pat.SignAgreement(a.key, c)
	if err != nil {
		a.g.t.Fatal(err)
	}
	return signed
}

func (a *agent) issueWith(signed string) answer {
	a.g.t.Helper()
	return a.g.do("POST", "/api/pat/issue", mustJSON(a.g.t, map[string]any{
		"agent_id": a.id, "signed_policy": signed, "agent_public_key": a.publicKey(),
	}), header{"Content-Type": "application/json"})
}

// agree makes a new agreement, and keeps the PAT.
func (a *agent) agree() *agent {
	a.g.t.Helper()
	got := a.issueWith(a.agreement(nil))
	a.token, _ = got.json(a.g.t)["uim-pat"].(string)
	if got.status != http.StatusOK || a.token == "" {
		a.g.t.Fatalf("no PAT: %d %s", got.status, got.body)
	}
	return a
}

func (a *agent) execute(uid string, parameters any, h header) answer {
	a.g.t.Helper()
	return a.executeBody(mustJSON(a.g.t, map[string]any{"intent_uid": uid, "parameters": parameters}), h)
}

func (a *agent) executeBody(body []byte, h header) answer {
	a.g.t.Helper()
	all := header{"Content-Type": "application/json", "Authorization": "Bearer " + a.token}
	maps.Copy(all, h)
	return a.g.do("POST", "/api/intents/execute", body, all)
}

// proof signs one call.
func (a *agent) proof(uid string, parameters map[string]any) string {
	a.g.t.Helper()
	tree, err := strictjson.DecodeObject(mustJSON(a.g.t, parameters))
	if err != nil {
		a.g.t.Fatal(err)
	}
	digest, err := pat.ExecuteDigest(uid, tree)
	if err != nil {
		a.g.t.Fatal(err)
	}
	return a.sign(digest)
}

func (a *agent) sign(digest string) string {
	a.g.t.Helper()
	proof, err := pat.SignProof(a.key,
		pat.ProofBinding{Audience: "shop.example", TokenID: pat.TokenID(tokenID(a.g.t, a.token)), Digest: digest}, time.Now())
	if err != nil {
		a.g.t.Fatal(err)
	}
	return proof
}

func tokenID(tb testing.TB, token string) string {
	tb.Helper()
	id, _ := payload(tb, token)["jti"].(string)
	return id
}

func payload(tb testing.TB, token string) map[string]any {
	tb.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		tb.Fatalf("not a JWT: %q", token)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		tb.Fatal(err)
	}
	tree, err := strictjson.DecodeObject(text)
	if err != nil {
		tb.Fatal(err)
	}
	return tree
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func mustJSON(tb testing.TB, v any) []byte {
	tb.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
