package runtime_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

var askerID = wire.PublicID{Author: "shop", Name: "asker", Version: "2.0.0"}

// asker returns a skill that passes the bytes it receives to a channel.
func asker(got chan<- runtime.Message) runtime.Skill {
	return runtime.Skill{ID: askerID, Handlers: []runtime.Handler{{
		Protocol: &protocol.Default, Handle: func(_ context.Context, m runtime.Message) error { got <- m; return nil },
	}}}
}

// TestSkillToSkill sends messages between two skills of one agent, by the complete id of the receiver and by its author and name.
func TestSkillToSkill(t *testing.T) {
	t.Parallel()
	got := make(chan runtime.Message, 1)
	r := running(t, runtime.Options{}, []runtime.Skill{echo(), asker(got)})
	for _, to := range []string{"shop/echo:1.0.0", "shop/echo"} {
		if _, err := r.Start(askerID, defaultSpec, to, text("hello "+to)); err != nil {
			t.Fatalf("%s: %v", to, err)
		}
		m := <-got
		d, _ := m.Content.(protocol.DefaultMessage)
		if string(d.Bytes) != "hello "+to || m.Sender != skillID.String() || !m.Inside() || !m.Peer().Connected() {
			t.Errorf("%s: got %+v", to, m)
		}
	}
	if n := r.Status().Inside; n != 4 {
		t.Errorf("got %d envelopes between skills, want 4", n)
	}
	if _, err := r.Start(askerID, defaultSpec, "shop/nothing:1.0.0", text("x")); !errors.Is(err, runtime.ErrNoConnection) {
		t.Errorf("an unknown component: %v, want %v", err, runtime.ErrNoConnection)
	}
	if err := r.Resources().Remove(skillID); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(askerID, defaultSpec, "shop/echo:1.0.0", text("x")); !errors.Is(err, runtime.ErrNoConnection) {
		t.Errorf("a removed skill: %v, want %v", err, runtime.ErrNoConnection)
	}
}

// TestComponentIDsFromOutside checks that no agent can address a skill by its id.
func TestComponentIDsFromOutside(t *testing.T) {
	t.Parallel()
	l := newLine("first")
	r := running(t, runtime.Options{}, []runtime.Skill{echo()}, l)
	e := message(t, "me", "r", 1, 0, defaultSpec, text("hello"))
	e.To, e.Sender = skillID.String(), askerID.String()
	l.put(t, e)
	l.put(t, message(t, "me", "s", 1, 0, defaultSpec, text("next")))
	if d := defaultMessage(t, l.sent(t, "me")); string(d.Bytes) != "next" {
		t.Errorf("got %+v", d)
	}
	if s := r.Status(); s.Unserved != 1 || s.InBox.Taken != 1 {
		t.Errorf("got %+v, want Unserved 1 and InBox.Taken 1", s)
	}
}

// TestFloodingSkill checks that a skill that sends too much to another skill gets an error, and that the agent still serves others while a
// handler hangs.
func TestFloodingSkill(t *testing.T) {
	t.Parallel()
	l := newLine("first")
	release := make(chan struct{})
	hanging := runtime.Skill{ID: askerID, Handlers: []runtime.Handler{{
		Protocol: &protocol.HTTP, Handle: func(context.Context, runtime.Message) error { <-release; return nil },
	}}}
	r := running(t, runtime.Options{}, []runtime.Skill{echo(), hanging}, l)
	defer close(release)
	var err error
	sent := 0
	for ; err == nil && sent < 10_000; sent++ {
		_, err = r.Start(skillID, httpSpec, askerID.String(), protocol.HTTPMessage{Performative: protocol.HTTPRequest, Method: "GET"})
	}
	if !errors.Is(err, runtime.ErrFull) || sent > 100 {
		t.Errorf("after %d messages: %v, want %v", sent, err, runtime.ErrFull)
	}
	l.put(t, message(t, "me", "s", 1, 0, defaultSpec, text("hello")))
	if d := defaultMessage(t, l.sent(t, "me")); string(d.Bytes) != "hello" {
		t.Errorf("got %+v", d)
	}
}

// TestBehavioursActOnceAndStop checks that a behaviour acts once if it is to, begins after its delay, and stops when its skill is removed
// and when the runtime stops. A behaviour that never returns does not delay the others.
func TestBehavioursActOnceAndStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var once, late, stopped, left, never atomic.Int64
		count := func(n *atomic.Int64) func(context.Context) error {
			return func(context.Context) error { n.Add(1); return nil }
		}
		r := runtime.New(self, runtime.Options{Now: time.Now, Limits: limits()})
		for _, s := range []runtime.Skill{
			{ID: skillID, Behaviours: []runtime.Behaviour{
				{Name: "once", Once: true, Act: count(&once), Stop: count(&stopped)},
				{Name: "late", After: time.Minute, Every: time.Hour, Act: count(&late), Stop: count(&left)},
			}},
			{ID: askerID, Behaviours: []runtime.Behaviour{
				{Name: "never returns", Once: true, Act: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, Stop: count(&never)},
				{Name: "stops", Once: true, Act: count(new(atomic.Int64)), Stop: count(&left)},
			}},
		} {
			if err := r.Resources().Add(s); err != nil {
				t.Fatal(err)
			}
		}
		stop := start(t, r)
		time.Sleep(time.Hour)
		if once.Load() != 1 || late.Load() != 1 {
			t.Errorf("got %d and %d acts, want 1 and 1", once.Load(), late.Load())
		}
		if err := r.Resources().Remove(skillID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if stopped.Load() != 1 || left.Load() != 1 {
			t.Errorf("got %d and %d stops after the skill was removed, want 1 and 1", stopped.Load(), left.Load())
		}
		stop()
		if stopped.Load() != 1 || left.Load() != 2 || never.Load() != 1 {
			t.Errorf("got %d, %d and %d stops at the end, want 1, 2 and 1", stopped.Load(), left.Load(), never.Load())
		}
	})
}

// TestTaskResults checks the results of tasks that succeed, fail, panic, do not exist, are disabled, or wait when the runtime stops.
func TestTaskResults(t *testing.T) {
	t.Parallel()
	onPurpose := errors.New("on purpose")
	began, block := make(chan struct{}), make(chan struct{})
	few := limits()
	few.TaskWorkers, few.Drain = 1, time.Minute
	r := runtime.New(self, runtime.Options{Now: time.Now, Limits: few})
	if err := r.Resources().Add(runtime.Skill{ID: skillID, Tasks: []runtime.Task{
		{Name: "double", Execute: func(_ context.Context, n any) (any, error) { return 2 * n.(int), nil }}, //nolint:forcetypeassert // panics
		{Name: "fail", Execute: func(context.Context, any) (any, error) { return nil, onPurpose }},
		{Name: "block", Execute: func(context.Context, any) (any, error) { close(began); <-block; return "done", nil }},
	}}); err != nil {
		t.Fatal(err)
	}
	stop := start(t, r)
	run := func(name string, argument any) (any, error) {
		result, err := r.Enqueue(skillID, name, argument)
		if err != nil {
			return nil, err
		}
		return result.Value()
	}
	if v, err := run("double", 21); v != 42 || err != nil {
		t.Errorf("got %v, %v; want 42", v, err)
	}
	if _, err := run("double", "no number"); err == nil {
		t.Error("a task that panics has no error")
	}
	if _, err := run("fail", nil); !errors.Is(err, onPurpose) {
		t.Errorf("got %v, want %v", err, onPurpose)
	}
	if _, err := run("other", nil); !errors.Is(err, runtime.ErrNoTask) {
		t.Errorf("got %v, want %v", err, runtime.ErrNoTask)
	}
	if _, err := r.Enqueue(askerID, "double", 1); !errors.Is(err, runtime.ErrNoSkill) {
		t.Errorf("got %v, want %v", err, runtime.ErrNoSkill)
	}
	running, err := r.Enqueue(skillID, "block", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-began
	waiting, err := r.Enqueue(skillID, "double", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Filter().SetEnabled(skillID, false); err != nil {
		t.Fatal(err)
	}
	if _, err := run("double", 1); !errors.Is(err, runtime.ErrNoTask) {
		t.Errorf("a disabled skill: %v, want %v", err, runtime.ErrNoTask)
	}
	if err := r.Filter().SetEnabled(skillID, true); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); stop() }()
	for { // until the runtime no longer starts tasks
		if _, err := r.Enqueue(skillID, "fail", nil); errors.Is(err, runtime.ErrFull) {
			break
		}
	}
	close(block)
	<-ended
	if v, err := running.Value(); v != "done" || err != nil {
		t.Errorf("got %v, %v; want done", v, err)
	}
	<-waiting.Done()
	if _, err := run("double", 1); !errors.Is(err, runtime.ErrStopped) {
		t.Errorf("after the end: %v, want %v", err, runtime.ErrStopped)
	}
}

// A price is a message of a protocol that is not part of this module.
type price string

func (price) Kind() protocol.Performative { return "price" }
func (p price) Encode() []byte            { return []byte(p) }

// pricing returns the protocol of price.
func pricing() *protocol.Protocol {
	return &protocol.Protocol{
		Name: "pricing", Specs: []wire.PublicID{{Author: "shop", Name: "pricing", Version: "1.0.0"}},
		Parse: func(content []byte) (protocol.Content, error) {
			if len(content) > 16 {
				return nil, wire.ErrUndecodable
			}
			return price(content), nil
		},
		Rules: protocol.Rules{
			Starter: "buyer", Responder: "seller", Initial: []protocol.Performative{"price"},
			Replies: map[protocol.Performative][]protocol.Performative{"price": {"price"}},
		},
	}
}

// TestProtocolRegistry adds a protocol to a running agent, uses it, and removes it in the middle of a dialogue.
func TestProtocolRegistry(t *testing.T) {
	t.Parallel()
	l := newLine("first")
	r := running(t, runtime.Options{}, nil, l)
	p := pricing()
	own := runtime.Skill{ID: skillID, Handlers: []runtime.Handler{{Protocol: p, Handle: func(_ context.Context, m runtime.Message) error {
		asked, _ := m.Content.(price)
		return m.Reply(asked + "!")
	}}}}
	if err := r.Resources().Add(own); !errors.Is(err, runtime.ErrSkill) {
		t.Errorf("a handler of an unknown protocol: %v, want %v", err, runtime.ErrSkill)
	}
	for name, step := range map[string]*protocol.Protocol{
		"nil": nil, "no function": {Name: "x", Specs: p.Specs}, "no id": {Name: "x", Parse: p.Parse}, "no name": {Specs: p.Specs, Parse: p.Parse},
		"the id of another": {Name: "x", Specs: protocol.FIPA.Specs, Parse: p.Parse},
		"no public id":      {Name: "x", Specs: make([]wire.PublicID, 1), Parse: p.Parse},
	} {
		if err := r.Resources().AddProtocol(step); !errors.Is(err, runtime.ErrProtocol) {
			t.Errorf("%s: %v, want %v", name, err, runtime.ErrProtocol)
		}
	}
	if err := errors.Join(r.Resources().AddProtocol(p), r.Resources().Add(own)); err != nil {
		t.Fatal(err)
	}
	if err := r.Resources().AddProtocol(p); !errors.Is(err, runtime.ErrProtocol) {
		t.Errorf("twice: %v, want %v", err, runtime.ErrProtocol)
	}
	l.put(t, message(t, "me", "r", 1, 0, p.Specs[0], price("5 EUR")))
	e := l.sent(t, "me")
	m, err := wire.DecodeMessage(e.Message)
	if err != nil || string(m.Content) != "5 EUR!" || e.Protocol != p.Specs[0] {
		t.Errorf("got %+v, %v", m, err)
	}
	l.put(t, message(t, "me", "long", 1, 0, p.Specs[0], price(strings.Repeat("5", 17))))
	if d := defaultMessage(t, l.sent(t, "me")); d.Code != protocol.CodeUndecodable {
		t.Errorf("got %+v, want the code %d", d, protocol.CodeUndecodable)
	}
	is := func(s runtime.ProtocolStatus) bool { return s.Name == "pricing" }
	if names := r.Status().Resources.Protocols; !slices.ContainsFunc(names, is) {
		t.Errorf("got %+v, want pricing", names)
	}
	if err := r.Resources().RemoveProtocol(p); err != nil {
		t.Fatal(err)
	}
	next := message(t, "me", "r", 2, -1, p.Specs[0], price("6 EUR"))
	l.put(t, next)
	if d := defaultMessage(t, l.sent(t, "me")); d.Code != protocol.CodeUnsupportedProtocol {
		t.Errorf("got %+v, want the code %d", d, protocol.CodeUnsupportedProtocol)
	}
	if err := r.Resources().RemoveProtocol(p); !errors.Is(err, runtime.ErrProtocol) {
		t.Errorf("removed twice: %v, want %v", err, runtime.ErrProtocol)
	}
}

// TestSkillsReadState checks that a skill can read the state that another skill shows.
func TestSkillsReadState(t *testing.T) {
	t.Parallel()
	s := echo()
	s.State = func() any { return 7 }
	r := running(t, runtime.Options{}, []runtime.Skill{s, asker(nil)})
	if state, ok := r.Resources().State(skillID); state != 7 || !ok {
		t.Errorf("got %v, %t; want 7", state, ok)
	}
	for _, id := range []wire.PublicID{askerID, defaultSpec} {
		if state, ok := r.Resources().State(id); ok {
			t.Errorf("%s: got %v, want none", id, state)
		}
	}
}

// TestFirstMessageNamesConnection checks that the context of the first message selects the connection, even if the peer was last heard on
// another one.
func TestFirstMessageNamesConnection(t *testing.T) {
	t.Parallel()
	one, two := newLine("first"), newLine("second")
	r := running(t, runtime.Options{}, []runtime.Skill{silent()}, one, two)
	one.put(t, message(t, "me", "r", 1, 0, defaultSpec, text("x")))
	open := runtime.FirstMessage{To: "me", Spec: defaultSpec, Content: text("news"), Context: runtime.EnvelopeContext{ConnectionID: two.id}}
	if _, err := r.Open(open); err != nil {
		t.Fatal(err)
	}
	if d := defaultMessage(t, two.sent(t, "me")); string(d.Bytes) != "news" {
		t.Errorf("got %+v", d)
	}
	open.Context.ConnectionID.Name = "closed"
	if _, err := r.Open(open); !errors.Is(err, runtime.ErrNoConnection) {
		t.Errorf("got %v, want %v", err, runtime.ErrNoConnection)
	}
	open.Skill, open.To, open.Context.ConnectionID = skillID, skillID.String(), two.id
	if _, err := r.Open(open); !errors.Is(err, wire.ErrUnsendable) {
		t.Errorf("a context between components: %v, want %v", err, wire.ErrUnsendable)
	}
}

// TestPeers checks that a peer with a queue counts as connected until the queue is closed.
func TestPeers(t *testing.T) {
	t.Parallel()
	l := newLine("first")
	got := make(chan runtime.Message, 1)
	running(t, runtime.Options{}, []runtime.Skill{asker(got)}, l)
	queue := l.port.Queue()
	for name, row := range map[string]struct {
		put     func(wire.Envelope) error
		proven  bool
		session bool
	}{
		"claimed":    {func(e wire.Envelope) error { return l.port.ReceiveFrom(t.Context(), e, queue) }, false, true},
		"proven":     {func(e wire.Envelope) error { return l.port.ReceiveOf(t.Context(), e, queue) }, true, true},
		"no session": {func(e wire.Envelope) error { return l.port.Receive(t.Context(), e) }, true, false},
	} {
		if err := row.put(message(t, "me", name, 1, 0, defaultSpec, text("x"))); err != nil {
			t.Fatal(err)
		}
		m := <-got
		p := m.Peer()
		if p.Proven != row.proven || p.HasSession() != row.session || !p.Connected() || p != m.Peer() || p.Connection != l.id {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if err := l.port.ReceiveOf(t.Context(), message(t, "me", "r", 1, 0, defaultSpec, text("x")), queue); err != nil {
		t.Fatal(err)
	}
	m := <-got
	queue.Close()
	if m.Peer().Connected() {
		t.Error("the peer is connected after its queue was closed")
	}
}
