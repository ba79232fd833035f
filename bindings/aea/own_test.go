package aea_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill"
	"github.com/uimgate/uimgate/gateway/door"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A request is a message of the protocol shop/concierge: the agent names a PAT and a query, and gets the output.
type request string

func (request) Kind() protocol.Performative { return "request" }
func (r request) Encode() []byte            { return []byte(r) }

var (
	conciergeID = wire.PublicID{Author: "shop", Name: "concierge", Version: "1.0.0"}
	concierge   = &protocol.Protocol{
		Name: "concierge", Specs: []wire.PublicID{conciergeID},
		Parse: func(content []byte) (protocol.Content, error) { return request(content), nil },
		Rules: protocol.Rules{
			Starter: "agent", Responder: "concierge", Initial: []protocol.Performative{"request"},
			Replies: map[protocol.Performative][]protocol.Performative{"request": {"request"}},
		},
	}
)

// newConcierge returns a skill that passes each request on to the intents skill, and the output back to the agent. Its task counts.
func newConcierge(r *runtime.Runtime) (runtime.Skill, error) {
	waiting := make(chan runtime.Message, 16)
	return runtime.Skill{
		ID: conciergeID, Protocols: []*protocol.Protocol{concierge},
		Handlers: []runtime.Handler{
			{Protocol: concierge, Handle: func(_ context.Context, m runtime.Message) error {
				content, _ := m.Content.(request)
				if content == "panic" {
					panic("on purpose")
				}
				waiting <- m
				_, err := r.Start(conciergeID, protocol.Default.Specs[0], skill.ID.String(), aeatest.Text(string(content)))
				return err
			}},
			{Protocol: &protocol.Default, Handle: func(_ context.Context, m runtime.Message) error {
				if d, _ := m.Content.(protocol.DefaultMessage); m.Inside() {
					return (<-waiting).Reply(request(d.Bytes))
				}
				return nil // messages of other agents are for the intents skill
			}},
		},
		Behaviours: []runtime.Behaviour{
			{Name: "greet", Once: true, Act: func(context.Context) error {
				result, err := r.Enqueue(conciergeID, "count", 41)
				if err == nil {
					_, err = result.Value()
				}
				return err
			}},
			{Name: "never returns", Once: true, Act: func(context.Context) error { <-release; return nil }},
		},
		Tasks: []runtime.Task{{Name: "count", Execute: func(_ context.Context, n any) (any, error) { return n.(int) + 1, nil }}}, //nolint:forcetypeassert // the only caller
	}, nil
}

// releaseOne ends the behaviour that never returns by itself.
var (
	release    = make(chan struct{})
	releaseOne = sync.OnceFunc(func() { close(release) })
)

func init() { aea.RegisterSkill("concierge", newConcierge) } //nolint:gochecknoinits // as a program of an operator does

// TestOwnSkill runs a gateway with a skill of the operator's program: agents use its protocol, it calls the intents skill by its id, and it
// has a behaviour and a task. A handler that panics and a behaviour that never returns do not disturb the agent.
func TestOwnSkill(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, strings.Replace(settings, "aea: {", "aea: {skills: {own: [concierge]}, ", 1))
	for way := range dialers {
		a := agent(g, way, 2)
		token := a.Agrees(t, gatetest.Searching)
		a.Start(t, &protocol.Default, aeatest.Text(call(gatetest.Searching, token)))
		if d, _ := a.Next(t).Content.(protocol.DefaultMessage); string(d.Bytes) != `{"ok":true}` {
			t.Errorf("%s: got %q", way, d.Bytes)
		}
		own := func(content string) {
			t.Helper()
			data, err := wire.Message{ID: 1, StarterRef: way + content[:5], Content: []byte(content)}.Encode()
			g.Must(err)
			a.Way.Send(t, wire.Envelope{To: a.Gateway, Sender: a.Address(), Protocol: conciergeID, Message: data})
		}
		own("panic")
		own(call(gatetest.Searching, token))
		m, err := wire.DecodeMessage(a.Way.Next(t, a.Address()).Message)
		if err != nil || string(m.Content) != `{"ok":true}` {
			t.Errorf("%s: got %q, %v", way, m.Content, err)
		}
	}
	s := activity(g)
	releaseOne()
	for name, ok := range map[string]bool{
		"protocol": slices.ContainsFunc(s.Resources.Protocols, func(p runtime.ProtocolStatus) bool { return p.Name == "concierge" }),
		"handlers": slices.Contains(s.Resources.Handlers, runtime.HandlerStatus{Skill: conciergeID.String(), Protocol: "concierge", Enabled: true}),
		"task":     slices.Contains(s.Resources.Tasks, runtime.TaskStatus{Skill: conciergeID.String(), Name: "count", Enabled: true}),
		"behaviour": slices.ContainsFunc(s.Resources.Behaviours, func(b runtime.BehaviourStatus) bool {
			return b.Name == "never returns" && b.Running && b.Every == ""
		}),
	} {
		if !ok {
			t.Errorf("%s: missing from %+v", name, s.Resources)
		}
	}
	shown, err := json.Marshal(door.Statuses(g.Modules, g.Directory.Current().Service("default")))
	if err != nil || !strings.Contains(string(shown), `"tasks":[{"skill":"shop/concierge:1.0.0","name":"count","enabled":true}]`) {
		t.Errorf("got %s, %v", shown, err)
	}
}

func init() { //nolint:gochecknoinits // as a program of an operator does
	aea.RegisterSkill("panicking", func(*runtime.Runtime) (runtime.Skill, error) { panic("on purpose") })
}

// TestPanickingFactory checks that a program's function that panics makes the reload fail, and that the agent still serves others.
func TestPanickingFactory(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	g.Write("uimgate.yaml", strings.Replace(g.Settings, "aea: {", "aea: {skills: {own: [panicking]}, ", 1))
	if err := g.TryReload(); err == nil || !strings.Contains(err.Error(), "panicking") {
		t.Errorf("got %v, want an error that names the skill", err)
	}
	a := agent(g, "delegate", 2)
	if answer := a.Calls(t, call(gatetest.Searching, a.Agrees(t, gatetest.Searching))); answer != `{"ok":true}` {
		t.Errorf("got %q, want %q", answer, `{"ok":true}`)
	}
}

func init() { ExampleRegisterSkill() } //nolint:gochecknoinits // as the program of the example does

// TestSkillOfExample runs the skill of the go doc example in a gateway. Two agents order at the same time, and the call that began first
// ends last: each agent gets its own output. An order that is not a call gets an error.
func TestSkillOfExample(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, strings.Replace(settings, "aea: {", "aea: {skills: {own: [orders]}, ", 1))
	orders := wire.PublicID{Author: "example", Name: "orders", Version: "1.0.0"}
	send := func(a *aeatest.Agent, content string) {
		t.Helper()
		data, err := wire.Message{ID: 1, StarterRef: content[:5], Content: []byte(content)}.Encode()
		g.Must(err)
		a.Way.Send(t, wire.Envelope{To: a.Gateway, Sender: a.Address(), Protocol: orders, Message: data})
	}
	output := func(a *aeatest.Agent) string {
		t.Helper()
		m, err := wire.DecodeMessage(a.Way.Next(t, a.Address()).Message)
		g.Must(err)
		return string(m.Content)
	}
	first, second := agent(g, "delegate", 2), agent(g, "mailbox", 3)
	of := map[*aeatest.Agent]string{}
	for _, a := range []*aeatest.Agent{first, second} {
		of[a] = call(gatetest.Searching, a.Agrees(t, gatetest.Searching))
	}
	called, goOn := make(chan struct{}), make(chan struct{})
	g.Upstream = func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "slow") {
			close(called)
			<-goOn
		}
		_, _ = io.WriteString(w, `{"query":"`+r.URL.RawQuery+`"}`)
	}
	send(first, strings.Replace(of[first], `"lamp"`, `"slow"`, 1))
	<-called
	send(second, of[second])
	if got := output(second); !strings.Contains(got, "lamp") {
		t.Errorf("the second agent got %q", got)
	}
	close(goOn)
	if got := output(first); !strings.Contains(got, "slow") {
		t.Errorf("the first agent got %q", got)
	}
	send(first, "no call")
	if got := output(first); got != "The bytes are not a call in JSON." {
		t.Errorf("got %q", got)
	}
}

// TestRegistersElsewhere runs a gateway with three connections whose service registers its intents with the directory of another agent. The
// configuration selects the connection: the one of directory, of default_routing, of default_connection, or the last one of the directory.
func TestRegistersElsewhere(t *testing.T) {
	t.Parallel()
	key := aeatest.Numbered(t, 5)
	address := key.Public(identity.Fetchai).Address()
	for name, row := range map[string]struct {
		settings string
		silent   bool // the directory has sent nothing, so that it was not heard on any connection
		want     string
	}{
		"the connection of directory": {"directory: {address: " + address + ", connection: mailbox}, default_connection: delegate, ", false, "mailbox"},
		"the last connection":         {"directory: {address: " + address + "}, default_connection: mailbox, ", false, "delegate"},
		"default_routing":             {"directory: {address: " + address + "}, default_connection: delegate, default_routing: {'fetchai/oef_search:1.0.0': mailbox}, ", true, "mailbox"},
		"default_connection":          {"directory: {address: " + address + "}, default_connection: mailbox, ", true, "mailbox"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gatetest.New(t, strings.Replace(settings, "aea: {", "aea: {skills: {search: false}, ", 1))
			at := addresses(g)
			ways := map[string]aeatest.Way{}
			for _, way := range []string{"delegate", "mailbox", "tcp"} {
				ways[way] = dialers[way](t, at, key)
			}
			if !row.silent {
				aeatest.NewAgent(ways["delegate"], at["address"], key, identity.Fetchai).Calls(t, call(gatetest.Searching, ""))
			}
			g.Write("uimgate.yaml", strings.Replace(g.Settings, "aea: {skills: {search: false}, ", "aea: {skills: {search: false}, "+row.settings, 1))
			reloads := row.settings
			if strings.Contains(reloads, "default_") { // another agent: the directory connects again
				g.Reload()
				at = addresses(g)
				for _, way := range []string{"delegate", "mailbox", "tcp"} {
					ways[way] = dialers[way](t, at, key)
				}
				if !row.silent {
					aeatest.NewAgent(ways["delegate"], at["address"], key, identity.Fetchai).Calls(t, call(gatetest.Searching, ""))
				}
				g.Reload()
			}
			way := ways[row.want]
			var taken []string
			node := aeatest.NewAgent(way, at["address"], key, identity.Fetchai)
			for range 3 {
				turn := node.Next(t)
				m, _ := turn.Content.(protocol.OEFMessage)
				if m.Performative != protocol.OEFRegisterService {
					t.Fatalf("got %+v", m)
				}
				taken = append(taken, string(m.Description))
				node.Reply(t, turn, protocol.OEFMessage{Performative: protocol.OEFSuccess})
			}
			if all := strings.Join(taken, " "); !strings.Contains(all, "location_agent") || !strings.Contains(all, gatetest.Ordering) ||
				!strings.Contains(all, gatetest.Searching) {
				t.Errorf("got %q", taken)
			}
			if strings.Contains(row.settings, "default_") {
				return // the next reload ends the agent and its connections
			}
			g.Write("uimgate.yaml", g.Settings) // no directory
			reload := make(chan struct{})
			go func() { defer close(reload); g.Reload() }()
			turn := node.Next(t)
			if m, _ := turn.Content.(protocol.OEFMessage); m.Performative != protocol.OEFUnregisterService ||
				!strings.Contains(string(m.Description), "location_agent") {
				t.Errorf("got %+v, want that the location is taken back", turn.Content)
			}
			<-reload
		})
	}
}
