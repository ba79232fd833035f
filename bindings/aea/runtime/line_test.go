package runtime_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

const self = "fetch1gateway"

var (
	defaultSpec = protocol.Default.Specs[0]
	httpSpec    = protocol.HTTP.Specs[0]
	fipaSpec    = protocol.FIPA.Specs[0]
	skillID     = wire.PublicID{Author: "shop", Name: "echo", Version: "1.0.0"}
)

// A line is a connection within the process. It has a queue for each peer that it has sent to.
type line struct {
	id wire.PublicID

	mu     sync.Mutex
	port   *runtime.Port
	ready  chan struct{}
	queues map[string]*runtime.Queue
}

func newLine(name string) *line {
	return &line{
		id: wire.PublicID{Author: "test", Name: name, Version: "1.0.0"}, ready: make(chan struct{}), queues: map[string]*runtime.Queue{},
	}
}

func (l *line) ID() wire.PublicID              { return l.id }
func (l *line) Confidential() bool             { return l.id.Name == "first" }
func (l *line) State() runtime.ConnectionState { return runtime.ConnectionState{} }

func (l *line) Run(ctx context.Context, port *runtime.Port) error {
	l.mu.Lock()
	l.port = port
	l.mu.Unlock()
	close(l.ready)
	<-ctx.Done()
	return nil
}

func (l *line) queue(peer string) *runtime.Queue {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queues[peer] == nil {
		l.queues[peer] = l.port.Queue()
	}
	return l.queues[peer]
}

func (l *line) Send(e wire.Envelope) error { return l.queue(e.To).Put(e) }

// put delivers an envelope to the runtime.
func (l *line) put(tb testing.TB, e wire.Envelope) {
	tb.Helper()
	if err := l.port.Receive(tb.Context(), e); err != nil {
		tb.Fatal(err)
	}
}

// sent returns the next envelope to a peer.
func (l *line) sent(tb testing.TB, peer string) wire.Envelope {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Second)
	defer cancel()
	e, done, err := l.queue(peer).Take(ctx)
	if err != nil {
		tb.Fatalf("no envelope to %s over %s: %v", peer, l.id, err)
	}
	done()
	return e
}

// limits returns the default limits with a short drain time, because tests leave envelopes in queues.
func limits() runtime.Limits {
	l := runtime.DefaultLimits
	l.Drain = time.Millisecond
	return l
}

// running starts a runtime with skills and lines, and stops it when the test ends.
func running(tb testing.TB, o runtime.Options, skills []runtime.Skill, lines ...*line) *runtime.Runtime {
	tb.Helper()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Limits == (runtime.Limits{}) {
		o.Limits = limits()
	}
	r := runtime.New(self, o)
	for _, s := range skills {
		if err := r.Resources().Add(s); err != nil {
			tb.Fatal(err)
		}
	}
	for _, l := range lines {
		if err := r.Connect(l, runtime.ConnectionOptions{}); err != nil {
			tb.Fatal(err)
		}
	}
	start(tb, r)
	for _, l := range lines {
		<-l.ready
	}
	return r
}

func start(tb testing.TB, r *runtime.Runtime) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { r.Run(ctx) })
	stop = func() { cancel(); ended.Wait() }
	tb.Cleanup(stop)
	return stop
}

// message makes an envelope to this agent.
func message(tb testing.TB, from, ref string, id, target int32, spec wire.PublicID, c protocol.Content) wire.Envelope {
	tb.Helper()
	data, err := wire.Message{ID: id, StarterRef: ref, Target: target, Content: c.Encode()}.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	return wire.Envelope{To: self, Sender: from, Protocol: spec, Message: data}
}

func text(s string) protocol.DefaultMessage {
	return protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: []byte(s)}
}

// defaultMessage reads a message of the default protocol.
func defaultMessage(tb testing.TB, e wire.Envelope) protocol.DefaultMessage {
	tb.Helper()
	m, err := wire.DecodeMessage(e.Message)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := protocol.Default.Decode(m.Content)
	if err != nil || e.Protocol != defaultSpec || e.Sender != self {
		tb.Fatalf("got %+v, %v; want no error, Protocol %v and Sender %v", e, err, defaultSpec, self)
	}
	d, _ := c.(protocol.DefaultMessage)
	return d
}

// echo returns a skill that replies with the bytes it receives.
func echo() runtime.Skill {
	return runtime.Skill{ID: skillID, Handlers: []runtime.Handler{{
		Protocol: &protocol.Default, Handle: func(_ context.Context, m runtime.Message) error {
			d, _ := m.Content.(protocol.DefaultMessage)
			if d.Performative != protocol.DefaultBytes {
				return nil
			}
			if string(d.Bytes) == "nonsense" {
				return protocol.ErrMessage
			}
			if string(d.Bytes) == "panic" {
				panic("on purpose")
			}
			return m.Reply(text(string(d.Bytes)))
		},
	}}}
}

// silent returns a skill that accepts messages and sends no replies.
func silent() runtime.Skill {
	return runtime.Skill{ID: skillID, Handlers: []runtime.Handler{{
		Protocol: &protocol.Default, Handle: func(context.Context, runtime.Message) error { return nil },
	}}}
}
