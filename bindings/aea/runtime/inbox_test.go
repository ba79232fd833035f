package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// slow returns a skill whose handler of default waits until let is closed, and whose handler of http replies at once.
func slow(started chan<- string, let <-chan struct{}) runtime.Skill {
	return runtime.Skill{ID: skillID, Patient: true, Handlers: []runtime.Handler{
		{Protocol: &protocol.Default, Handle: func(_ context.Context, m runtime.Message) error {
			started <- m.Sender
			<-let
			return m.Reply(text("at last"))
		}},
		{Protocol: &protocol.HTTP, Handle: func(_ context.Context, m runtime.Message) error {
			return m.Reply(protocol.HTTPMessage{Performative: protocol.HTTPResponse, Status: 200})
		}},
	}}
}

func request(t *testing.T, from, ref string) wire.Envelope {
	t.Helper()
	return message(t, from, ref, 1, 0, httpSpec, protocol.HTTPMessage{Performative: protocol.HTTPRequest, Method: "GET", URL: "/"})
}

// TestBusyAgentDoesNotBlockOthers checks that other senders are served while one handler takes all the workers it can get, and that a
// sender with one busy dialogue can use others.
func TestBusyAgentDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	started, let := make(chan string, 100), make(chan struct{})
	l := newLine("first")
	few := limits()
	few.Workers = 4
	r := running(t, runtime.Options{Limits: few}, []runtime.Skill{slow(started, let)}, l)
	defer close(let)
	for i := range 10 { // one handler, from ten senders
		l.put(t, message(t, "sender"+strconv.Itoa(i), "r", 1, 0, defaultSpec, text("x")))
	}
	<-started
	<-started
	for i := range 3 {
		l.put(t, request(t, "other", strconv.Itoa(i)))
		l.sent(t, "other")
	}
	for i := range 3 { // other dialogues of a sender whose first one is busy
		l.put(t, request(t, "sender0", strconv.Itoa(i)))
		l.sent(t, "sender0")
	}
	if s := r.Status().InBox; s.Working != 2 || s.Waiting != 8 || len(started) != 0 {
		t.Errorf("%+v, %d started", s, len(started))
	}
}

// TestDialoguesAreOrdered checks that the agent handles the messages of each dialogue in order, while other dialogues run.
func TestDialoguesAreOrdered(t *testing.T) {
	t.Parallel()
	l := newLine("first")
	got := make(chan string, 1000)
	running(t, runtime.Options{}, []runtime.Skill{{ID: skillID, Handlers: []runtime.Handler{{
		Protocol: &protocol.FIPA, Handle: func(_ context.Context, m runtime.Message) error {
			got <- fmt.Sprint(m.Dialogue.Label().StarterRef, m.Message.ID)
			return nil
		},
	}}}}, l)
	want := map[string][]string{}
	for id := int32(1); id < 8; id++ {
		for _, ref := range []string{"a", "b", "c"} {
			p := protocol.FIPACFP
			target := int32(0)
			if id > 1 { // an agent may reply to its own message
				p, target = protocol.FIPAPropose, id-1
			}
			l.put(t, message(t, "me", ref, id, target, fipaSpec, protocol.FIPAMessage{Performative: p}))
			want[ref] = append(want[ref], fmt.Sprint(ref, id))
		}
	}
	came := map[string][]string{}
	for range 21 {
		s := <-got
		came[s[:1]] = append(came[s[:1]], s)
	}
	if diff := cmp.Diff(want, came); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

// TestFullInBoxBlocksSender checks that the connection of a sender with a full inbox waits, and that the runtime accepts envelopes of other
// senders.
func TestFullInBoxBlocksSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started, let := make(chan string, 100), make(chan struct{})
		l := newLine("first")
		r := running(t, runtime.Options{}, []runtime.Skill{slow(started, let)}, l)
		for i := range 64 {
			l.put(t, message(t, "flood", strconv.Itoa(i), 1, 0, defaultSpec, text("x")))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.port.Receive(ctx, message(t, "flood", "y", 1, 0, defaultSpec, text("x"))); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a full inbox accepted more: %v, want %v", err, context.DeadlineExceeded)
		}
		l.put(t, request(t, "other", "r"))
		l.sent(t, "other")
		more := make(chan error)
		go func() { more <- l.port.Receive(t.Context(), message(t, "flood", "z", 1, 0, defaultSpec, text("x"))) }()
		synctest.Wait()
		if s := r.Status().InBox; s.Held != 2 || s.Waiting+s.Working != 64 {
			t.Errorf("got %+v; want Held 2 and Waiting + s.Working 64", s)
		}
		close(let)
		if err := <-more; err != nil {
			t.Error(err)
		}
	})
}

// TestLittleMemory checks that, with little memory, one agent or each of eight still has space for two of the longest envelopes.
func TestLittleMemory(t *testing.T) { // not parallel, because it sets the memory limit of the process
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for agents, limit := range map[int]int64{0: 96 << 20, 8: 768 << 20} {
		debug.SetMemoryLimit(limit)
		synctest.Test(t, func(t *testing.T) {
			started, let := make(chan string, 10), make(chan struct{})
			defer close(let)
			l := newLine("first")
			running(t, runtime.Options{Agents: agents}, []runtime.Skill{slow(started, let)}, l)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for i := range 3 {
				e := message(t, "sender"+strconv.Itoa(i), "r", 1, 0, defaultSpec, text(string(make([]byte, 3<<20-1000))))
				if err := l.port.Receive(ctx, e); (err == nil) != (i < 2) {
					t.Errorf("%d agents: envelope %d: %v", agents, i+1, err)
				}
			}
		})
	}
}

// TestPeerThatDoesNotRead checks that such a peer fills only its own queue. Senders get an error, and other peers receive their envelopes.
func TestPeerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	l := newLine("first")
	few := limits()
	few.OutBox = 8 << 20
	r := running(t, runtime.Options{Limits: few}, nil, l)
	send := func(to string, size int) error {
		e := message(t, self, "r", 1, 0, defaultSpec, text(string(make([]byte, size))))
		e.To = to
		return r.Multiplexer().Send(runtime.Envelope{Envelope: e})
	}
	for i := range 1024 {
		if err := send("deaf", 10); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := send("deaf", 10); !errors.Is(err, runtime.ErrFull) {
		t.Errorf("a full queue accepted more: %v, want %v", err, runtime.ErrFull)
	}
	if err := send("other", 3<<20-1000); err != nil {
		t.Error(err)
	}
	if err := send("third", 2<<20); !errors.Is(err, runtime.ErrFull) {
		t.Errorf("a full outbox accepted more: %v, want %v", err, runtime.ErrFull)
	}
	if err := send("third", 10); err != nil {
		t.Error(err)
	}
	l.sent(t, "other")
	if err := send("third", 2<<20); err != nil {
		t.Error(err)
	}
	if n := l.queue("deaf").Close(); n != 1024 {
		t.Errorf("%d dropped, want 1024", n)
	}
	if err := send("deaf", 10); !errors.Is(err, runtime.ErrNoPeer) {
		t.Errorf("a closed queue accepted more: %v, want %v", err, runtime.ErrNoPeer)
	}
	if s := r.Status().Connections[0]; s.Dropped != 3 || s.LastError != "test/first:1.0.0: no peer with this address is connected" {
		t.Errorf("got %+v; want Dropped 3 and LastError %q", s, "test/first:1.0.0: no peer with this address is connected")
	}
}
