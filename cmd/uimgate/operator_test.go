package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

const operatorAgents = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [{"intent_uid": "shop.example:order:v1", "intent_name": "Order", "description": "Order.",
    "input_parameters": [{"name": "product", "type": "string", "required": true}],
    "endpoint": {"url": "https://shop.example/orders", "method": "POST", "content_type": "application/json"}}]
}`

const operatorPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [{"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}]
}`

// A testGateway is a gateway and the command line of its operator.
type testGateway struct {
	*testing.T
	dir       string
	addresses daemon.Addresses
	stop      func()
	ahead     time.Duration // of its clock
}

func startGatewayWithOperator(t *testing.T) *testGateway {
	t.Helper()
	return startGatewayOf(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c, _, err := http.NewResponseController(w).Hijack() // reads every order and sends no response
		if err == nil {
			_ = c.Close()
		}
	})
}

// startGatewayOf starts a gateway for a service.
func startGatewayOf(t *testing.T, service http.HandlerFunc) *testGateway {
	t.Helper()
	upstream := httptest.NewServer(service)
	t.Cleanup(upstream.Close)
	g := &testGateway{T: t, dir: t.TempDir()}
	g.write("agents.json", operatorAgents)
	g.write("policy.json", operatorPolicy)
	g.write("uimgate.yaml", `data: data
server: {listen: "127.0.0.1:0", issue_per_address: 1000/second}
admin: {listen: "127.0.0.1:0"}
billing: {credit: 100 EUR}
services: [{agents_file: agents.json, policy_file: policy.json, upstream: {url: "`+upstream.URL+`"}, intents: {"shop.example:order:v1": {proof: optional}}}]
`)
	t.Cleanup(func() { g.stop() })
	g.start()
	return g
}

// start runs the gateway, until stop.
func (g *testGateway) start() {
	g.Helper()
	load := func() (*config.Config, config.Problems) {
		return config.Load(g.config(), config.Overrides{Blocks: bindings.Blocks(), Env: func(string) (string, bool) { return "", false }})
	}
	cfg, problems := load()
	if cfg == nil {
		g.Fatal(problems.Err())
	}
	sqlitetest.Empty.Copy(g, config.StatePath(cfg.Data))
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan daemon.Addresses, 1), make(chan error, 1)
	go func() {
		done <- daemon.Run(ctx, daemon.Options{
			Config: cfg, Load: load, Ready: func(a daemon.Addresses) { ready <- a }, Log: zap.NewNop(),
			Now: func() time.Time { return time.Now().Add(g.ahead) },
		})
	}()
	stopped := false
	g.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			g.Error(err)
		}
	}
	select {
	case g.addresses = <-ready:
	case err := <-done:
		g.Fatalf("the gateway ended: %v", err)
	}
}

func (g *testGateway) config() string { return filepath.Join(g.dir, "uimgate.yaml") }

func (g *testGateway) write(name, text string) string {
	g.Helper()
	path := filepath.Join(g.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		g.Fatal(err)
	}
	return path
}

// An output is the result of a command.
type output struct {
	code        int
	out, errors string
}

func command(t *testing.T, stdin string, args ...string) output {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return output{code, out.String(), errs.String()}
}

// flagged adds flags to arguments, before a -- that ends the flags.
func flagged(args []string, flags ...string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return slices.Concat(args[:i], flags, args[i:])
	}
	return slices.Concat(args, flags)
}

// run runs an operator command against the gateway, with the token from its data directory.
func (g *testGateway) run(args ...string) output { g.Helper(); return g.runWith("", args...) }

func (g *testGateway) runWith(stdin string, args ...string) output {
	g.Helper()
	return command(g.T, stdin, flagged(args, "--admin", g.addresses.Admin, "-c", g.config())...)
}

// want runs a command that must succeed and prints its record as JSON.
func want[T any](g *testGateway, args ...string) T {
	g.Helper()
	s := g.run(flagged(args, "-o", "json")...)
	var v T
	if err := json.Unmarshal([]byte(s.out), &v); s.code != exitDone || err != nil {
		g.Fatalf("%v: %+v, %v; want code %v and no error", args, s, err, exitDone)
	}
	return v
}

// agree makes an agent agree on the public listener, and returns its PAT and its key.
func (g *testGateway) agree(id string) (token string, key keys.Key) {
	g.Helper()
	body, key := g.propose(id)
	var issued struct {
		PAT string `json:"uim-pat"`
	}
	if err := json.Unmarshal(body, &issued); err != nil || issued.PAT == "" {
		g.Fatalf("no PAT: %s", body)
	}
	return issued.PAT, key
}

// propose sends the agreement of a new agent, and returns the response.
func (g *testGateway) propose(id string) (answer []byte, key keys.Key) {
	g.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err == nil {
		key, err = keys.New(public)
	}
	if err != nil {
		g.Fatal(err)
	}
	policy, err := os.ReadFile(filepath.Join(g.dir, "policy.json"))
	if err != nil {
		g.Fatal(err)
	}
	offer, err := pat.NewOffer(policy, "https://shop.example/policy/1")
	if err != nil {
		g.Fatal(err)
	}
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			g.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	input := part(map[string]any{"typ": "uim-agreement+jwt", "alg": "EdDSA"}) + "." + part(map[string]any{
		"iss": id, "aud": "shop.example", "htu": g.addresses.Listen + "/api/pat/issue", "iat": time.Now().Unix(), "jti": key.Thumbprint(),
		"policy": map[string]any{"uid": offer.UID, "digest": offer.Digest},
	})
	answer = g.post("/api/pat/issue", "", map[string]any{
		"agent_id": id, "agent_public_key": base64.StdEncoding.EncodeToString(key.SPKI()),
		"signed_policy": input + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, []byte(input))),
	})
	return answer, key
}

func (g *testGateway) post(path, token string, body any) []byte {
	g.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		g.Fatal(err)
	}
	r, err := http.NewRequestWithContext(g.Context(), http.MethodPost, g.addresses.Listen+path, bytes.NewReader(text))
	if err != nil {
		g.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		g.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		g.Fatal(err)
	}
	return answer
}
