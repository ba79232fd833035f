package aea_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	gosched "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea"
	"github.com/uimgate/uimgate/bindings/aea/connections/httpclient"
	"github.com/uimgate/uimgate/bindings/aea/connections/local"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// TestLocalNode runs a gateway with two services. One registers its intents with the agent of the other over the connection local, where an
// agent of another machine finds it. It takes them back when it loses the connection.
func TestLocalNode(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("0", 63) + "7"
	second := aeatest.Key(t, key).Public(identity.Fetchai).Address()
	node := aeatest.Numbered(t, 8).Public(identity.Fetchai).Address()
	of := func(more string) string {
		return "services:\n- {id: default, hosts: [default.example], " + members + ", doors: {aea: {key_file: node.txt, delegate: '127.0.0.1:0', connections: {local: true}}}}\n" +
			"- {id: second, hosts: [second.example], issuer: second.example, " + members + ", doors: {aea: {key_file: key.txt, " + more + "}}}\n"
	}
	directory := "directory: {address: " + node + ", connection: local}, "
	g := gatetest.New(t, of(directory+"connections: {local: true}"), func(g *gatetest.Gate) {
		g.Write("key.txt", key)
		g.Write("node.txt", strings.Repeat("0", 63)+"8")
	})
	if at := addresses(g); at["address"] != node {
		t.Fatalf("got %v, want the address %s", at, node)
	}
	a := agent(g, "delegate", 2)
	found := func(want bool) {
		t.Helper()
		if got := finds(t, a, searches(equals("intent_uid", gatetest.Searching)), second); got != want {
			t.Errorf("found the second service: %t, want %t", got, want)
		}
	}
	open := func(s runtime.ConnectionStatus) bool { return s.ID == local.ID.String() && s.Up && s.Peers == 1 }
	for !slices.ContainsFunc(activity(g).Connections, open) {
		gosched.Gosched()
	}
	g.Reload() // the service registers as soon as the connection is open; its clock stands still
	registered(g, 4)
	found(true)
	up := func(s runtime.ConnectionStatus) bool {
		return s.ID == local.ID.String() && s.Up && s.Peers == 1 && s.Received > 0 && s.Sent > 0 && s.Dropped == 0
	}
	if s := activity(g); !slices.ContainsFunc(s.Connections, up) {
		t.Errorf("got %+v", s.Connections)
	}
	g.Write("uimgate.yaml", strings.Replace(g.Settings, directory+"connections: {local: true}", "", 1))
	g.Reload()
	registered(g, 2)
	found(false)
}

// TestHTTPServer sends requests over the connection http_server of a running gateway: the intents skill executes them as the API does, and
// sends a PAT only if no one else can read it.
func TestHTTPServer(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, strings.Replace(settings, "aea: {", "aea: {connections: {http_server: '127.0.0.1:0'}, ", 1))
	url := "http://" + addresses(g)["http_server"]
	send := func(method, path, token, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		g.Must(err)
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		a := g.Send(r)
		return a.Status, string(a.Body)
	}
	a := g.Agreed("agent-1")
	call := fmt.Sprintf(`{"intent_uid": %q, "parameters": {"query": "lamp"}}`, gatetest.Searching)
	for name, row := range map[string]struct {
		method, path, token, body string
		status                    int
		want                      string
	}{
		"a call":        {http.MethodPost, "/api/intents/execute", a.Token, call, 200, `{"ok":true}`},
		"no PAT":        {http.MethodPost, "/api/intents/execute", "", call, 401, "MISSING_TOKEN"},
		"a search":      {http.MethodGet, "/api/intents/search?query=order", "", "", 200, gatetest.Ordering},
		"no such path":  {http.MethodGet, "/nothing", "", "", 404, ""},
		"another door":  {http.MethodPost, "/mcp", "", "{}", 404, ""},
		"no intent":     {http.MethodPost, "/api/intents/execute", a.Token, `{"intent_uid": "x:y:v1", "parameters": {}}`, 404, "INTENT_NOT_FOUND"},
		"too long":      {http.MethodPost, "/api/intents/execute", a.Token, strings.Repeat("x", 1<<20+1), 413, ""},
		"no agreement":  {http.MethodPost, "/api/pat/issue", "", "{}", 400, ""},
		"a HEAD":        {http.MethodHead, "/agents.json", "", "", 200, ""},
		"another query": {http.MethodGet, "/api/intents/search?query=lamp%20%26", "", "", 200, "intents"},
	} {
		if status, body := send(row.method, row.path, row.token, row.body); status != row.status || !strings.Contains(body, row.want) {
			t.Errorf("%s: got %d %.300s, want %d and %q", name, status, body, row.status, row.want)
		}
	}
}

var visitorID = wire.PublicID{Author: "shop", Name: "visitor", Version: "1.0.0"}

// visitorURLs has the URL that the skill visitor requests, and visits the responses.
var (
	visitorURLs = make(chan string, 1)
	visits      = make(chan protocol.HTTPMessage, 1)
)

func init() { //nolint:gochecknoinits // as a program of an operator does
	aea.RegisterSkill("visitor", func(r *runtime.Runtime) (runtime.Skill, error) {
		return runtime.Skill{
			ID: visitorID,
			Handlers: []runtime.Handler{{Protocol: &protocol.HTTP, Handle: func(_ context.Context, m runtime.Message) error {
				if c, ok := m.Content.(protocol.HTTPMessage); ok && c.Performative == protocol.HTTPResponse {
					visits <- c
				}
				return nil
			}}},
			Behaviours: []runtime.Behaviour{{Name: "visit", Once: true, Act: func(ctx context.Context) error {
				var url string
				select {
				case url = <-visitorURLs:
				case <-ctx.Done():
					return ctx.Err()
				}
				for { // until the connection is up
					_, err := r.Start(visitorID, protocol.HTTP.Specs[0], httpclient.ID.String(), protocol.HTTPMessage{
						Performative: protocol.HTTPRequest, Method: http.MethodPost, URL: url, Body: []byte("a lamp"),
					})
					if !errors.Is(err, runtime.ErrDown) {
						return err
					}
					select {
					case <-time.After(10 * time.Millisecond):
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			}}},
		}, nil
	})
}

// TestHTTPClient has a skill of a running gateway request a server over the connection http_client.
func TestHTTPClient(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "%s %s", r.URL.Path, body)
	}))
	t.Cleanup(server.Close)
	g := gatetest.New(t, strings.Replace(settings, "aea: {", "aea: {skills: {own: [visitor]}, connections: {http_client: true}, ", 1))
	visitorURLs <- server.URL + "/hook"
	if m := <-visits; m.Status != http.StatusAccepted || string(m.Body) != "/hook a lamp" {
		t.Errorf("got %+v", m)
	}
	up := func(s runtime.ConnectionStatus) bool { return s.ID == httpclient.ID.String() && s.Up && s.Sent == 1 }
	if s := activity(g); !slices.ContainsFunc(s.Connections, up) {
		t.Errorf("got %+v", s.Connections)
	}
}

// guest is a protocol that only the skill guest brings.
var guest = &protocol.Protocol{
	Name: "guest", Specs: []wire.PublicID{{Author: "shop", Name: "guest", Version: "1.0.0"}}, Parse: concierge.Parse, Rules: concierge.Rules,
}

func init() { //nolint:gochecknoinits // as a program of an operator does
	aea.RegisterSkill("guest", func(*runtime.Runtime) (runtime.Skill, error) {
		return runtime.Skill{
			ID: wire.PublicID{Author: "shop", Name: "guest", Version: "2.0.0"}, Protocols: []*protocol.Protocol{guest},
			Handlers: []runtime.Handler{{Protocol: guest, Handle: func(_ context.Context, m runtime.Message) error { return m.Reply(m.Content) }}},
		}, nil
	})
}

// TestSkillsAreDisabledByReload disables skills of a running gateway and enables them again. Disabled skills keep their state.
func TestSkillsAreDisabledByReload(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, strings.Replace(settings, "aea: {", "aea: {skills: {own: [guest], echo: true}, ", 1))
	registered(g, 2)
	a := agent(g, "delegate", 2)
	token := a.Agrees(t, gatetest.Searching)
	for _, d := range pieces("weather") {
		if m := oef(t, a, aeatest.Register(d)); m.Performative != protocol.OEFSuccess {
			t.Fatalf("%s: %+v", d.Model.Name, m)
		}
	}
	reload := func(disabled string) {
		t.Helper()
		g.Write("uimgate.yaml", strings.Replace(g.Settings, "echo: true", "echo: true, disabled: ["+disabled+"]", 1))
		g.Reload()
	}
	reload("intents, search, echo, guest")
	a.Start(t, &protocol.FIPA, aeatest.CFP(gatetest.Searching))
	if m, _ := a.Next(t).Content.(protocol.DefaultMessage); m.Code != protocol.CodeUnsupportedSkill {
		t.Errorf("got %+v, want the code %d", m, protocol.CodeUnsupportedSkill)
	}
	for _, s := range activity(g).Skills {
		if disabled := s.ID != runtime.DecisionMakerID.String(); s.Enabled == disabled {
			t.Errorf("%s: enabled: %t", s.ID, s.Enabled)
		}
	}
	reload("search")
	if m := oef(t, a, searches()); m.Performative != protocol.OEFError {
		t.Errorf("got %+v, want an error", m)
	}
	if answer := a.Calls(t, call(gatetest.Searching, token)); answer != `{"ok":true}` {
		t.Errorf("got %q, want %q", answer, `{"ok":true}`)
	}
	reload("")
	if !finds(t, agent(g, "mailbox", 3), searches(equals("seller_service", "weather")), a.Address()) {
		t.Error("the registration was lost")
	}

	// A skill that is removed takes its protocol along, so that the configuration can add it again.
	for _, own := range []string{"own: []", "own: [guest]"} {
		g.Write("uimgate.yaml", strings.Replace(g.Settings, "own: [guest]", own, 1))
		g.Reload()
		has := func(p runtime.ProtocolStatus) bool { return p.Name == "guest" }
		if got := slices.ContainsFunc(activity(g).Resources.Protocols, has); got != (own != "own: []") {
			t.Errorf("%s: the protocol is registered: %t", own, got)
		}
	}
}
