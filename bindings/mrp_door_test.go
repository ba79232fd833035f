package bindings_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings/mrp"
	"github.com/uimgate/uimgate/gateway/door"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	mrptest "github.com/uimgate/uimgate/internal/test/mrp"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

const (
	members  = "agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}"
	settings = gatetest.RelaySettings + "services:\n- {" + members + ", doors: {mrp: {relay: local}}}\n"
)

// status returns the operator's view of the door, and false if the door is closed.
func status(g *gatetest.Gate) (door.Status, bool) {
	for _, s := range door.Statuses(g.Modules, g.Directory.Current().Service("default")) {
		if s.Door == mrp.Name {
			return s, true
		}
	}
	return door.Status{}, false
}

// agent returns an agent with a new key, at the relay of the service.
func agent(g *gatetest.Gate) *mrptest.Agent {
	g.Helper()
	s, _ := status(g)
	relay := s.Addresses["relay"]
	if relay == mrp.LocalRelay {
		relay = g.RelayURL
	}
	return mrptest.New(g.T, relay, s.Addresses["key"], g.Now)
}

// agrees makes an agent agree, and returns its PAT.
func agrees(g *gatetest.Gate, a *mrptest.Agent) string {
	g.Helper()
	return a.Agrees(g.T, g.Directory.Current().Service("default").At("/api/pat/issue")).PAT
}

func call(intent, token string, more ...string) string {
	parameters := `{"query":"lamp"}`
	if intent == gatetest.Ordering {
		parameters = `{"product":"lamp"}`
	}
	text := fmt.Sprintf(`{"intent_uid":%q,"parameters":%s,"pat":%q`, intent, parameters, token)
	for _, m := range more {
		text += "," + m
	}
	return text + "}"
}

// proof returns a proof of key for a call of Ordering.
func proof(g *gatetest.Gate, a *mrptest.Agent, token string) string {
	g.Helper()
	digest, err := pat.ExecuteDigest(gatetest.Ordering, map[string]any{"product": "lamp"})
	g.Must(err)
	signed, err := pat.SignProof(a.Key, pat.ProofBinding{
		Audience: "shop.example", TokenID: g.TokenID(&gatetest.Agent{Token: token}), Digest: digest,
	}, g.Now())
	g.Must(err)
	return signed
}

func expect(t *testing.T, what, answer string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(answer, w) {
			t.Errorf("%s: %s, want %s", what, answer, w)
		}
	}
}

// TestCallsOverEachRelay makes the calls that every door must handle, over a local and a remote relay, plain and encrypted.
func TestCallsOverEachRelay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ elsewhere, encrypted bool }{
		"plain": {false, false}, "encrypted": {false, true}, "remote relay, plain": {true, false}, "remote relay, encrypted": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := settings
			if c.elsewhere {
				settings = "services:\n- {" + members + ", doors: {mrp: {relay: '" + gatetest.New(t, shut).RelayURL + "'}}}\n"
			}
			g := gatetest.New(t, settings, func(g *gatetest.Gate) {
				g.Write("policy.json", strings.Replace(gatetest.PolicyFile, `"action": "execute"}`,
					`"action": "execute", "constraint": [{"leftOperand": "count", "operator": "lteq", "rightOperand": 3}]}`, 1))
			})
			a := agent(g)
			a.Encrypt = c.encrypted
			token := agrees(g, a)
			execute := func(params string) string { t.Helper(); return a.Ask(t, "uim:execute", params) }
			orders := func() string { t.Helper(); return call(gatetest.Ordering, token) }
			if c.elsewhere {
				orders = func() string {
					t.Helper()
					return call(gatetest.Ordering, token, fmt.Sprintf(`"proof":%q`, proof(g, a, token)))
				}
				expect(t, "a paid call without a proof", execute(call(gatetest.Ordering, token)), unproved)
			}
			expect(t, "a free call", execute(call(gatetest.Searching, token)), `"status":"ok"`, `"output":{"ok":true}`, `"replayed":false`,
				`"rate_limit":"\"lifetime\";r=2`)
			expect(t, "by its name", a.Ask(t, gatetest.Searching, `{"query":"lamp"}`, fmt.Sprintf(`"uim_pat":%q`, token)), `"output":{"ok":true}`)
			expect(t, "a paid call", execute(orders()), `"output":{"ok":true}`, `"charge":"0.25 EUR; id=`)
			accounts, err := g.Store.Accounts(t.Context(), store.Filter{Service: "default"})
			if err != nil || len(accounts) != 1 || string(accounts[0].AgentID) != a.ID() || accounts[0].Captured.String() != "0.25 EUR" {
				t.Errorf("got %+v, %v", accounts, err)
			}
			wrong := strings.Replace(call(gatetest.Searching, token), `"lamp"`, "1", 1)
			expect(t, "wrong parameters", execute(wrong), `"status":"error"`, `"code":"invalid_parameter"`, `"pointer":"/parameters/query"`)
			expect(t, "an unknown intent", execute(call("shop.example:sell:v1", token)), `"code":"intent_not_found"`)
			expect(t, "an unknown action", a.Ask(t, "shop.example:sell:v1", "{}"), `"code":"unsupported_action"`, `"uim:search"`, gatetest.Searching)
			expect(t, "no PAT", execute(call(gatetest.Searching, "")), `"code":"missing_token"`)
			expect(t, "a PAT of another", execute(call(gatetest.Searching, g.Agreed("agent-2").Token)), `"code":"invalid_token"`)
			last := call(gatetest.Searching, token, `"idempotency_key":"k-1"`)
			expect(t, "the last that there is", execute(last), `"output":{"ok":true}`, `"replayed":false`)
			expect(t, "the same again", execute(last), `"output":{"ok":true}`, `"replayed":true`)
			expect(t, "too many", execute(call(gatetest.Searching, token)), `"code":"quota_exceeded"`, `"suggestion"`)

			g.Upstream = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
			expect(t, "the service fails", execute(orders()), `"code":"upstream_error"`, `"outcome":"failed"`)
			g.BreakOff()
			expect(t, "the service goes away", execute(orders()), `"code":"upstream_error"`, `"outcome":"unknown"`)
			g.Write("policy.json", strings.Replace(gatetest.PolicyFile, "policy/1", "policy/2", 1))
			g.Reload()
			expect(t, "another policy", execute(call(gatetest.Searching, token)), `"code":"policy_requires_agreement"`)
			token = agrees(g, a)
			g.Upstream = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) }
			expect(t, "after another agreement", execute(call(gatetest.Searching, token)), `"output":{"ok":true}`)
			g.Must(g.Directory.Current().Service("default").Issuance.Revoke(g.Context(),
				pat.Revocation{Kind: pat.RevokedToken, Subject: string(g.TokenID(&gatetest.Agent{Token: token})), Reason: "test"}))
			g.Later(time.Second)
			expect(t, "revoked", execute(call(gatetest.Searching, token)), `"code":"revoked_token"`)
			if n := g.Logs.FilterField(zap.String("door", mrp.Name)).Len(); n == 0 {
				t.Error("no line of the log names the door")
			}
		})
	}
}

// A PAT that was issued through another door is valid here for the same key, and only that key can renew it.
func TestPATIsBoundToKey(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	elsewhere := g.Agreed("agent-1")
	s, _ := status(g)
	a := mrptest.With(t, elsewhere.Key, g.RelayURL, s.Addresses["key"], g.Now)
	expect(t, "of another door", a.Ask(t, "uim:execute", call(gatetest.Searching, elsewhere.Token)), `"output":{"ok":true}`)

	b := agent(g)
	reply := b.Agrees(t, g.Directory.Current().Service("default").At("/api/pat/issue"))
	if until, err := time.Parse(time.RFC3339, reply.ExpiresAt); err != nil || !until.After(g.Now()) || len(reply.Scope) != 2 ||
		reply.AgreementID == "" {
		t.Errorf("got %+v", reply)
	}
	renewal := func(a *mrptest.Agent, token string) string {
		t.Helper()
		id := g.TokenID(&gatetest.Agent{Token: token})
		digest, err := pat.RenewDigest(id)
		g.Must(err)
		signed, err := pat.SignProof(b.Key, pat.ProofBinding{Audience: "shop.example", TokenID: id, Digest: digest}, g.Now())
		g.Must(err)
		return a.Ask(t, "uim:renew", fmt.Sprintf(`{"pat":%q,"proof":%q}`, token, signed))
	}
	g.Later(30 * time.Minute)
	expect(t, "renewed by another", renewal(a, reply.PAT), `"code":"invalid_token"`)
	next := mrptest.Result[mrptest.Grant](t, renewal(b, reply.PAT))
	if next.PAT == reply.PAT || next.ExpiresAt <= reply.ExpiresAt {
		t.Errorf("got %+v", next)
	}
	expect(t, "renewed", b.Ask(t, "uim:execute", call(gatetest.Searching, next.PAT)), `"output":{"ok":true}`)

	other := agent(g)
	signed := b.Agreement(t, g.Directory.Current().Service("default").At("/api/pat/issue"))
	answer := other.Ask(t, "uim:agree", fmt.Sprintf(`{"agreement":%q}`, signed))
	expect(t, "another's agreement", answer, `"status":"error"`)
}

// Two calls with the same idempotency key get the same result, and are executed once.
func TestRepeatedCall(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	a := agent(g)
	token := agrees(g, a)
	var reached atomic.Int64
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = io.WriteString(w, `{"ok":true}`)
	}
	body := fmt.Sprintf(`{"action":"uim:execute","params":%s}`, call(gatetest.Ordering, token, `"idempotency_key":"k-1"`))
	first := a.Say(t, wire.TypeRequest, body)
	second := a.Say(t, wire.TypeRequest, body) // another message, with another signature
	expect(t, "once", string(first.Body), `"replayed":false`)
	expect(t, "twice", string(second.Body), `"replayed":true`)
	if reached.Load() != 1 {
		t.Errorf("got %d calls, want 1", reached.Load())
	}
	if first.ThreadID != first.InReplyTo || first.InReplyTo == "" {
		t.Errorf("got %+v", first)
	}
}

// agents.json has the public URL of the gateway's relay.
func TestGatewayRelayIsAnnounced(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, strings.Replace(settings, "mrp_relay: {", "mrp_relay: {public_url: 'https://relay.shop.example', ", 1))
	if body := string(g.Get("/agents.json").Body); !strings.Contains(body, `"uim-mrp-relay": "https://relay.shop.example"`) {
		t.Errorf("agents.json does not name the relay: %s", body)
	}
}
