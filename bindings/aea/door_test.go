package aea_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	gosched "runtime"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings/aea"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/gateway/door"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/store"
)

const (
	members  = "agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, " + gatetest.Unproved
	settings = "services:\n- {" + members + ", doors: {aea: {tcp: '127.0.0.1:0', delegate: '127.0.0.1:0', mailbox: '127.0.0.1:0'}}}\n"
)

// addresses returns the addresses that agents connect to, or nil if the door is closed.
func addresses(g *gatetest.Gate) map[string]string {
	for _, s := range door.Statuses(g.Modules, g.Directory.Current().Service("default")) {
		if s.Door == aea.Name {
			return s.Addresses
		}
	}
	return nil
}

// dialers has a function for each connection that connects an agent.
var dialers = map[string]func(tb testing.TB, at map[string]string, key identity.Key) aeatest.Way{
	"tcp": func(tb testing.TB, at map[string]string, key identity.Key) aeatest.Way {
		tb.Helper()
		return aeatest.TCP(tb, at["tcp"], key.Public(identity.Fetchai).Address())
	},
	"delegate": func(tb testing.TB, at map[string]string, key identity.Key) aeatest.Way {
		tb.Helper()
		return aeatest.Delegate(tb, at["delegate"], at["node_key"], key, identity.Fetchai)
	},
	"mailbox": func(tb testing.TB, at map[string]string, key identity.Key) aeatest.Way {
		tb.Helper()
		return aeatest.Mailbox(tb, at["mailbox"], at["node_key"], key, identity.Fetchai)
	},
}

// agent returns an agent with the nth key that uses a connection.
func agent(g *gatetest.Gate, way string, n int) *aeatest.Agent {
	g.Helper()
	at, key := addresses(g), aeatest.Numbered(g.T, n)
	return aeatest.NewAgent(dialers[way](g.T, at, key), at["address"], key, identity.Fetchai)
}

func call(intent, token string) string {
	parameters := `{"query": "lamp"}`
	if intent == gatetest.Ordering {
		parameters = `{"product": "lamp"}`
	}
	return fmt.Sprintf(`{"intent_uid": %q, "parameters": %s, "pat": %q}`, intent, parameters, token)
}

// TestCommonBehaviour runs the table of all doors over each connection, as bytes and as HTTP requests.
func TestCommonBehaviour(t *testing.T) {
	t.Parallel()
	for way := range dialers {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			g := gatetest.New(t, settings, func(g *gatetest.Gate) {
				g.Write("policy.json", strings.Replace(gatetest.PolicyFile, `"action": "execute"}`,
					`"action": "execute", "constraint": [{"leftOperand": "count", "operator": "lteq", "rightOperand": 3}]}`, 1))
			})
			a := agent(g, way, 2)
			searching, ordering := a.Agrees(t, gatetest.Searching), a.Agrees(t, gatetest.Ordering)
			expect := func(what, sent, want string) {
				t.Helper()
				if answer := a.Calls(t, sent); !strings.Contains(answer, want) {
					t.Errorf("%s: %s, want %s", what, answer, want)
				}
			}
			expect("a free call", call(gatetest.Searching, searching), `{"ok":true}`)
			expect("a paid call", call(gatetest.Ordering, ordering), `{"ok":true}`)
			accounts, err := g.Store.Accounts(t.Context(), store.Filter{Service: "default"})
			if err != nil || len(accounts) != 1 || string(accounts[0].AgentID) != a.Address() || accounts[0].Captured.String() != "0.25 EUR" {
				t.Errorf("got %+v, %v", accounts, err)
			}
			expect("wrong parameters", strings.Replace(call(gatetest.Searching, searching), `"lamp"`, "1", 1), "INVALID_PARAMETER")
			expect("an unknown intent", call("shop.example:sell:v1", searching), "INTENT_NOT_FOUND")
			expect("no PAT", call(gatetest.Searching, ""), "MISSING_TOKEN")
			expect("another's PAT", call(gatetest.Searching, g.Agreed("agent-2").Token), "INVALID_TOKEN")

			request := protocol.HTTPMessage{
				Performative: protocol.HTTPRequest, Method: http.MethodPost, URL: "http://shop/api/intents/execute",
				Header: http.Header{"Authorization": {"Bearer " + searching}, "Content-Type": {"application/json"}},
				Body:   []byte(fmt.Sprintf(`{"intent_uid": %q, "parameters": {"query": "lamp"}}`, gatetest.Searching)),
			}
			e := a.Start(t, &protocol.HTTP, request)
			first, _ := a.Next(t).Content.(protocol.HTTPMessage)
			if first.Status != http.StatusOK || string(first.Body) != `{"ok":true}` {
				t.Errorf("got %d %s", first.Status, first.Body)
			}
			a.Way.Send(t, e) // the same message again: its dialogue has ended, so the agent sees a new one
			again := a.Way.Next(t, a.Address())
			if !bytes.Contains(again.Message, []byte("Idempotency-Replayed: true")) || !bytes.Contains(again.Message, []byte(`{"ok":true}`)) {
				t.Errorf("a repeated message: %q", again.Message)
			}
			g.Upstream = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
			expect("the service is down", call(gatetest.Searching, searching), "UPSTREAM_ERROR")
			expect("the limit is reached", call(gatetest.Searching, searching), "QUOTA_EXCEEDED")
			g.Must(g.Directory.Current().Service("default").Issuance.RevokeToken(t.Context(), searching))
			g.Must(g.View.Refresh(t.Context()))
			expect("a revoked PAT", call(gatetest.Searching, searching), "REVOKED_TOKEN")
			g.Write("policy.json", strings.Replace(gatetest.PolicyFile, "policy/1", "policy/2", 1))
			g.Reload()
			expect("a changed policy", call(gatetest.Ordering, ordering), "POLICY_REQUIRES_AGREEMENT")
			expect("after another agreement", call(gatetest.Searching, a.Agrees(t, gatetest.Searching)), "UPSTREAM_ERROR")
			if n := len(g.Logs.FilterField(zap.String("door", "aea")).All()); n == 0 {
				t.Error("no line of the log names the door")
			}
		})
	}
}

// A reload opens and closes doors. A door that the reload does not change keeps running, with its connections.
func TestReloadOpensAndCloses(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	first := addresses(g)
	if first["address"] == "" || !strings.HasPrefix(first["address"], "fetch1") || len(first["node_key"]) != 66 || len(first) != 5 {
		t.Fatal(first)
	}
	a := agent(g, "delegate", 2)
	token := a.Agrees(t, gatetest.Searching)
	if body := g.Get("/agents.json").Body; !bytes.Contains(body, []byte(`"uim-aea": "`+first["address"]+`"`)) {
		t.Errorf("got %s", body)
	}
	g.Reload()
	if now := addresses(g); fmt.Sprint(now) != fmt.Sprint(first) {
		t.Errorf("%v, was %v", now, first)
	}
	if answer := a.Calls(t, call(gatetest.Searching, token)); answer != `{"ok":true}` {
		t.Errorf("got %q, want %q", answer, `{"ok":true}`)
	}

	// A call that is in progress when the door closes gets its reply.
	called, goOn := make(chan struct{}), make(chan struct{})
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		close(called)
		<-goOn
		fmt.Fprint(w, `{"late":true}`)
	}
	a.Start(t, &protocol.Default, aeatest.Text(call(gatetest.Searching, token)))
	<-called
	g.Write("uimgate.yaml", strings.ReplaceAll(g.Settings, `delegate: '127.0.0.1:0', `, ""))
	reloaded, before := make(chan struct{}), g.Directory.Current()
	go func() { defer close(reloaded); g.Reload() }()
	for g.Directory.Current() == before {
		gosched.Gosched()
	}
	close(goOn)
	if m, ok := a.Next(t).Content.(protocol.DefaultMessage); !ok || string(m.Bytes) != `{"late":true}` {
		t.Errorf("got %+v", m)
	}
	<-reloaded
	second := addresses(g)
	if second["delegate"] != "" || second["tcp"] == "" || second["address"] != first["address"] {
		t.Errorf("%v, was %v", second, first)
	}
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ok":true}`) }
	if answer := agent(g, "tcp", 2).Calls(t, call(gatetest.Searching, token)); answer != `{"ok":true}` {
		t.Errorf("got %q, want %q", answer, `{"ok":true}`)
	}
	g.Write("uimgate.yaml", strings.ReplaceAll(g.Settings, ", doors: {aea: {tcp: '127.0.0.1:0', delegate: '127.0.0.1:0', mailbox: '127.0.0.1:0'}}", ""))
	g.Reload()
	if at := addresses(g); at != nil || bytes.Contains(g.Get("/agents.json").Body, []byte("uim-aea")) {
		t.Error(at)
	}
	if c, err := net.Dial("tcp", second["tcp"]); err == nil {
		_ = c.Close()
		t.Error("the closed door still listens")
	}
}

// A door whose address is in use stays closed and reports an error; the other doors are open.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	g := gatetest.New(t, "")
	g.Write("uimgate.yaml", strings.Replace(g.Settings, gatetest.Unproved, gatetest.Unproved+", doors: {aea: {tcp: '"+taken.Addr().String()+"'}}", 1))
	if err := g.TryReload(); err == nil || !strings.Contains(err.Error(), "the agent of default: tcp: ") {
		t.Errorf("got %v, want an error that contains %q", err, "the agent of default: tcp: ")
	}
	if at := addresses(g); at != nil {
		t.Errorf("got %v, want nil", at)
	}
	if a := g.Execute(g.Agreed("agent-1"), gatetest.Searching); a.Status != http.StatusOK {
		t.Errorf("got %d %s; want %v", a.Status, a.Body, http.StatusOK)
	}
}

// The status of the door counts messages, and contains none of their contents.
func TestStatus(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	a := agent(g, "tcp", 2)
	a.Calls(t, call(gatetest.Searching, ""))
	for _, s := range door.Statuses(g.Modules, g.Directory.Current().Service("default")) {
		if s.Door != aea.Name {
			continue
		}
		status, ok := s.Activity.(runtime.Status)
		if !ok || len(status.Connections) != 3 || status.Address != s.Addresses["address"] || len(status.Skills) != 3 ||
			status.Skills[0].Handled == 0 {
			t.Errorf("got %+v", s.Activity)
		}
		return
	}
	t.Error("no status")
}
