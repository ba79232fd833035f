package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/limit"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A joinedLine is a line that returns ErrNoPeer for peers without a queue.
type joinedLine struct{ *line }

func (k joinedLine) Send(e wire.Envelope) error {
	k.mu.Lock()
	queue := k.queues[e.To]
	k.mu.Unlock()
	if queue == nil {
		return runtime.ErrNoPeer
	}
	return queue.Put(e)
}

// relaying starts a runtime with two lines that relay and one that does not.
func relaying(t *testing.T, l runtime.Limits, proven [2]*line, other *line) *runtime.Runtime {
	t.Helper()
	r := runtime.New(self, runtime.Options{Now: time.Now, Limits: l})
	for _, line := range proven {
		if err := r.Connect(joinedLine{line}, runtime.ConnectionOptions{Relay: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Connect(joinedLine{other}, runtime.ConnectionOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Resources().Add(echo()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	for _, line := range append(proven[:], other) {
		<-line.ready
	}
	return r
}

func between(t *testing.T, from, to, ref, output string) wire.Envelope {
	t.Helper()
	e := message(t, from, ref, 1, 0, defaultSpec, text(output))
	e.To = to
	return e
}

// decodeDefault returns the default message in an envelope.
func decodeDefault(t *testing.T, e wire.Envelope) protocol.DefaultMessage {
	t.Helper()
	m, err := wire.DecodeMessage(e.Message)
	if err != nil {
		t.Fatal(err)
	}
	c, err := protocol.Default.Decode(m.Content)
	d, ok := c.(protocol.DefaultMessage)
	if err != nil || !ok || d.Performative != protocol.DefaultError || e.Sender != self {
		t.Fatalf("%+v from %s, %v", c, e.Sender, err)
	}
	return d
}

// TestRelayingConnections checks that the runtime relays envelopes unchanged, and only between connections that authenticate their agents.
func TestRelayingConnections(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		from, to string
		come     func(e *wire.Envelope)
		want     bool
		refused  bool // the connection refuses the envelope
	}{
		"within one connection":                    {from: "ann", to: "bob", want: true},
		"from one connection to another":           {from: "ann", to: "cid", want: true},
		"in the other direction":                   {from: "cid", to: "ann", want: true},
		"with a URI, of any protocol":              {from: "ann", to: "bob", come: unknownProtocol, want: true},
		"to the sender itself":                     {from: "ann", to: "ann", want: true},
		"to an unknown address":                    {from: "ann", to: "nobody", refused: true},
		"to an agent that the connection trusts":   {from: "ann", to: "tim", refused: true},
		"from an agent that the connection trusts": {from: "tim", to: "ann"},
		"to a component":                           {from: "ann", to: "bob", come: func(e *wire.Envelope) { e.To, e.Sender = skillID.String(), "shop/x:1.0.0" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proven, other := [2]*line{newLine("first"), newLine("second")}, newLine("other")
			r := relaying(t, limits(), proven, other)
			at := map[string]*line{"ann": proven[0], "bob": proven[0], "cid": proven[1], "tim": other}
			for agent, line := range at {
				line.queue(agent)
			}
			e := between(t, row.from, row.to, "a1", "hello")
			if row.come != nil {
				row.come(&e)
			}
			if err := at[row.from].port.Receive(t.Context(), e); errors.Is(err, runtime.ErrNoPeer) != row.refused || err != nil && !row.refused {
				t.Errorf("got %v", err)
			}
			s := r.Status()
			if row.want {
				came := at[row.to].sent(t, row.to)
				if came.To != e.To || came.Sender != e.Sender || came.URI != e.URI || string(came.Message) != string(e.Message) ||
					s.Relay.Relayed != 1 || s.Unserved != 0 {
					t.Errorf("got %+v, %+v", came, s)
				}
			} else if s.Relay.Relayed != 0 || s.Unserved != 1 {
				t.Errorf("got %+v %+v; want Relayed 0 and Unserved 1", s, s.Relay)
			}
			// The gateway still replies to the sender, and the relayed message opened no dialogue with it.
			at[row.from].put(t, message(t, row.from, "z1", 1, 0, defaultSpec, text("hello")))
			if answer := at[row.from].sent(t, row.from); answer.Sender != self || r.Status().Dialogues.HalfOpen != 1 {
				t.Errorf("got %+v, %+v; want Sender %v and Dialogues.HalfOpen 1", answer, r.Status(), self)
			}
		})
	}
}

func unknownProtocol(e *wire.Envelope) {
	e.Protocol = wire.PublicID{Author: "their", Name: "own", Version: "0.3.0"}
	e.URI, e.Message = "http://x/y", []byte("anything")
}

// TestRelayIsOffByDefault checks that the runtime relays nothing without a connection with Relay.
func TestRelayIsOffByDefault(t *testing.T) {
	t.Parallel()
	l := newLine("first")
	r := running(t, runtime.Options{}, []runtime.Skill{echo()}, l)
	<-l.ready
	l.queue("bob")
	l.put(t, between(t, "ann", "bob", "a1", "hello"))
	if s := r.Status(); s.Relay != nil || s.Unserved != 1 {
		t.Errorf("got %+v; want Relay nil and Unserved 1", s)
	}
}

// TestRelayToLastConnection checks that an agent with two connections gets envelopes on the connection of its last envelope.
func TestRelayToLastConnection(t *testing.T) {
	t.Parallel()
	proven, other := [2]*line{newLine("first"), newLine("second")}, newLine("other")
	relaying(t, limits(), proven, other)
	proven[0].queue("ann")
	for _, heard := range []int{1, 0, 1} {
		proven[0].queue("bob")
		proven[1].queue("bob")
		proven[heard].put(t, between(t, "bob", "ann", "b", "I am here"))
		proven[0].sent(t, "ann")
		proven[0].put(t, between(t, "ann", "bob", "a", "hello"))
		proven[heard].sent(t, "bob")
	}
}

// TestRelayToFullQueue checks that the sender gets an error, and that the gateway's own messages keep their space.
func TestRelayToFullQueue(t *testing.T) {
	t.Parallel()
	l := limits()
	l.Relay = limit.Rate{Max: 1_000_000, Period: limit.Minute}
	proven, other := [2]*line{newLine("first"), newLine("second")}, newLine("other")
	r := relaying(t, l, proven, other)
	line := proven[0]
	line.queue("ann")
	line.queue("bob")
	large := string(make([]byte, 1<<20))
	for n := 0; r.Status().Relay.Undelivered == 0; n++ {
		if n > 10 {
			t.Fatalf("%d messages of a MiB wait for one agent, want at most 10", n)
		}
		line.put(t, between(t, "ann", "bob", fmt.Sprintf("a%d", n), large))
	}
	if d := decodeDefault(t, line.sent(t, "ann")); d.Code != protocol.CodeInvalidDialogue || len(d.Data["dialogue"]) == 0 {
		t.Errorf("got %+v", d)
	}
	fault := between(t, "ann", "bob", "f1", "")
	fault.Message = message(t, "ann", "", 1, 0, defaultSpec,
		protocol.DefaultMessage{Performative: protocol.DefaultError, Data: map[string][]byte{"envelope": []byte(large)}}).Message
	answered := r.Status().Errors.Answered
	line.put(t, fault)
	if s := r.Status(); s.Relay.Undelivered != 2 || s.Errors.Answered != answered {
		t.Errorf("an error got a reply: %+v %+v", s.Errors, s.Relay)
	}
	line.put(t, message(t, "bob", "b1", 1, 0, defaultSpec, text("hello")))
	for e := line.sent(t, "bob"); e.Sender != self; e = line.sent(t, "bob") {
		if e.Sender != "ann" {
			t.Errorf("got %+v, want Sender %q", e, "ann")
		}
	}
}

// TestRelayedMessagesLeaveRoom checks that messages to agents that do not read leave space for the replies of the gateway.
func TestRelayedMessagesLeaveRoom(t *testing.T) {
	t.Parallel()
	l := limits()
	l.OutBox, l.PerPeer = 4*wire.MaxEnvelope, wire.MaxEnvelope
	l.Relay = limit.Rate{Max: 1_000_000, Period: limit.Minute}
	proven, other := [2]*line{newLine("first"), newLine("second")}, newLine("other")
	r := relaying(t, l, proven, other)
	line := proven[0]
	large := string(make([]byte, 512<<10))
	for n := range 200 {
		from, to := fmt.Sprintf("from%d", n), fmt.Sprintf("to%d", n%20)
		line.queue(to)
		line.put(t, between(t, from, to, "a1", large))
	}
	if s := r.Status().Relay; s.Relayed == 0 || s.Relayed*512<<10 > 2*wire.MaxEnvelope || s.Relayed+s.Undelivered != 200 {
		t.Errorf("got %+v", s)
	}
	line.queue("bob")
	line.put(t, message(t, "bob", "b1", 1, 0, defaultSpec, text(large)))
	if e := line.sent(t, "bob"); len(e.Message) < 512<<10 {
		t.Errorf("%d bytes", len(e.Message))
	}
}

// TestRelayLimitPerSender checks that the limit applies to all receivers of one sender together, and does not affect other senders.
func TestRelayLimitPerSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limits()
		l.Relay = limit.Rate{Max: 60, Period: limit.Minute}
		proven, other := [2]*line{newLine("first"), newLine("second")}, newLine("other")
		r := relaying(t, l, proven, other)
		line := proven[0]
		for _, agent := range []string{"ann", "bob", "cid"} {
			line.queue(agent)
		}
		for n := range 100 {
			line.put(t, between(t, "ann", []string{"bob", "cid"}[n%2], fmt.Sprintf("a%d", n), "hello"))
		}
		if s := r.Status(); s.Relay.Relayed != 60 || s.Relay.Held != 40 || s.Errors.Answered != uint64(l.Errors.Max) {
			t.Errorf("got %+v %+v; want Relayed 60, Held 40 and Answered %v", s.Relay, s.Errors, uint64(l.Errors.Max))
		}
		decodeDefault(t, line.sent(t, "ann"))
		line.put(t, between(t, "cid", "bob", "c1", "hello"))
		time.Sleep(10 * time.Second) // on the fake clock of this test
		line.put(t, between(t, "ann", "bob", "a1", "hello"))
		if s := r.Status(); s.Relay.Relayed != 62 {
			t.Errorf("got %+v, want Relayed 62", s.Relay)
		}
	})
}
