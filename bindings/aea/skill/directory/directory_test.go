package directory_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	gosched "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill/directory"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

var update = flag.Bool("update", false, "write the messages into the transcripts, for review")

// A node is an agent whose only skill is a directory. Its line has no sessions.
type node struct {
	*runtime.Runtime
	line  *aeatest.Line
	clock *atomic.Int64 // seconds since 1970
}

func (n *node) now() time.Time { return time.Unix(n.clock.Load(), 0) }

func opened(t *testing.T) *node {
	t.Helper()
	n := &node{line: &aeatest.Line{Name: "1"}, clock: &atomic.Int64{}}
	n.clock.Store(1_800_000_000)
	n.Runtime = runtime.New(aeatest.Self, runtime.Options{Now: n.now})
	d := directory.New(directory.Config{Address: aeatest.Self, Now: n.now})
	t.Cleanup(d.Close)
	if err := n.Resources().Add(d.Skill()); err != nil {
		t.Fatal(err)
	}
	if err := n.Connect(n.line.Connection(), runtime.ConnectionOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); n.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return n
}

func (n *node) agent(t *testing.T, number int) *aeatest.Agent {
	t.Helper()
	return aeatest.NewAgent(n.line, aeatest.Self, aeatest.Numbered(t, number), identity.Fetchai)
}

func service(value string) search.Description {
	return search.Describe("set_service_key", search.KeyValue{Key: "key", Value: search.Text("seller_service")},
		search.KeyValue{Key: "value", Value: search.Text(value)})
}

func query(value string) protocol.OEFMessage {
	return protocol.OEFMessage{Performative: protocol.OEFSearchServices, Query: search.Query{Constraints: []search.Expr{
		search.Constraint{Attribute: "seller_service", Test: search.Relation{Value: search.Text(value)}},
	}}.Encode()}
}

func ask(t *testing.T, a *aeatest.Agent, m protocol.OEFMessage) protocol.OEFMessage {
	t.Helper()
	a.Start(t, &protocol.OEFSearch, m)
	answer, ok := a.Next(t).Content.(protocol.OEFMessage)
	if !ok {
		t.Fatal("the reply is not one of oef_search")
	}
	return answer
}

// TestRegistrationsExpireWithoutSession checks that a registration ends an hour after it was last made, if its connection does not notice
// that the agent leaves.
func TestRegistrationsExpireWithoutSession(t *testing.T) {
	t.Parallel()
	n := opened(t)
	a, b := n.agent(t, 2), n.agent(t, 3)
	for _, step := range []struct {
		name    string
		pass    int64 // seconds
		renew   bool
		present bool
	}{
		{"registered", 0, true, true},
		{"later", 3599, false, true},
		{"renewed", 0, true, true},
		{"after an hour", 1, false, true},
		{"an hour after it was renewed", 3599, false, false},
		{"again", 0, true, true},
	} {
		n.clock.Add(step.pass)
		if step.renew {
			if m := ask(t, a, aeatest.Register(service("weather"))); m.Performative != protocol.OEFSuccess {
				t.Fatalf("%s: %+v", step.name, m)
			}
		}
		if got := len(ask(t, b, query("weather")).Agents) == 1; got != step.present {
			t.Errorf("%s: present: %t, want %t", step.name, got, step.present)
		}
	}
}

// TestManyRegistrations sends more registrations, each of another agent, than the directory keeps. It still replies to the agents that it
// has.
func TestManyRegistrations(t *testing.T) {
	t.Parallel()
	n := opened(t)
	first := n.agent(t, 2)
	ask(t, first, aeatest.Register(service("first")))
	content := aeatest.Register(service("other"))
	refused := 0
	for i := range registrations {
		if i%200 == 0 {
			n.clock.Add(1) // this test is not about the rate of all agents
		}
		address := fmt.Sprintf("agent %d", i)
		_, e, err := dialogue.New(address, dialogue.DefaultLimits, n.now).Start(protocol.OEFSearch.Specs[0], aeatest.Self, content)
		if err != nil {
			t.Fatal(err)
		}
		n.line.Send(t, e)
		reply := n.line.Next(t, address)
		m, err := wire.DecodeMessage(reply.Message)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := protocol.OEFSearch.Decode(m.Content); err != nil || c.Kind() == protocol.OEFError {
			refused++
		}
	}
	n.clock.Add(10)
	state, _ := n.Resources().State(directory.ID)
	if s, _ := state.(directory.Status); s.Agents > 8192 || s.Agents < 8000 || refused < registrations-8192 {
		t.Errorf("got %+v, %d refused; want at most 8192 agents", s, refused)
	}
	if m := ask(t, first, query("other")); len(m.Agents) != 100 {
		t.Errorf("found %d agents, want 100", len(m.Agents))
	}
	if m := ask(t, n.agent(t, 3), query("first")); len(m.Agents) != 1 || m.Agents[0] != first.Address() {
		t.Errorf("got %v, want the first agent", m.Agents)
	}
}

// TestTranscripts compares the messages of both protocols with transcripts.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	for _, p := range []*protocol.Protocol{&protocol.OEFSearch, &protocol.OEF} {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			n := opened(t)
			seller, buyer := n.agent(t, 2), n.agent(t, 3)
			var lines strings.Builder
			exchange := func(who string, a *aeatest.Agent, m protocol.OEFMessage) {
				m.Older = p == &protocol.OEF
				fmt.Fprintf(&lines, "%s: %s %x\n", who, m.Performative, m.Encode())
				a.Start(t, p, m)
				if m.Older && m.Performative == protocol.OEFRegisterService {
					return // no reply to a success
				}
				answer := a.Next(t)
				fmt.Fprintf(&lines, "directory: %s %x\n", answer.Content.Kind(), answer.Message.Content)
			}
			exchange("seller", seller, aeatest.Register(service("weather")))
			for agents := 0; agents == 0; gosched.Gosched() { // the older protocol has no reply that shows it
				state, _ := n.Resources().State(directory.ID)
				s, _ := state.(directory.Status)
				agents = s.Agents
			}
			exchange("buyer", buyer, query("weather"))
			exchange("buyer", buyer, query("nothing"))
			exchange("buyer", buyer, protocol.OEFMessage{Performative: protocol.OEFSearchServices, Query: []byte{0xff}})
			if p == &protocol.OEF {
				agents := query("weather")
				agents.Performative = protocol.OEFSearchAgents
				exchange("buyer", buyer, agents)
			}
			file := "testdata/transcripts/" + p.Name + ".txt"
			if *update {
				if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), lines.String()); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}
