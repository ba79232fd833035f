package aeatest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// A Line is a connection within the process: a Way for any number of agents.
type Line struct {
	Name  string
	Clear bool // others can read the messages

	once   sync.Once
	ready  chan struct{}
	mu     sync.Mutex
	port   *runtime.Port
	queues map[string]*runtime.Queue
}

func (l *Line) init() {
	l.once.Do(func() { l.ready, l.queues = make(chan struct{}), map[string]*runtime.Queue{} })
}

// ID returns the id of the line.
func (l *Line) ID() wire.PublicID {
	return wire.PublicID{Author: "test", Name: "line" + l.Name, Version: "1.0.0"}
}

// Confidential reports whether only the agent can read its messages.
func (l *Line) Confidential() bool { return !l.Clear }

// State returns an empty state.
func (l *Line) State() runtime.ConnectionState { return runtime.ConnectionState{} }

// Run serves the line until ctx ends.
func (l *Line) Run(ctx context.Context, port *runtime.Port) error {
	l.init()
	l.mu.Lock()
	l.port = port
	l.mu.Unlock()
	close(l.ready)
	<-ctx.Done()
	return nil
}

func (l *Line) queue(peer string) *runtime.Queue {
	l.init()
	<-l.ready
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queues[peer] == nil {
		l.queues[peer] = l.port.Queue()
	}
	return l.queues[peer]
}

// put queues an envelope to an agent.
func (l *Line) put(e wire.Envelope) error { return l.queue(e.To).Put(e) }

// Port returns the port of a connection that does nothing. Its runtime uses the clock now and runs until the test ends.
func Port(tb testing.TB, now func() time.Time) *runtime.Port {
	tb.Helper()
	l := &Line{}
	l.init()
	r := runtime.New(Self, runtime.Options{Now: now})
	if err := r.Connect(l.Connection(), runtime.ConnectionOptions{}); err != nil {
		tb.Fatal(err)
	}
	run(tb, r)
	<-l.ready
	return l.port
}

// Connection returns the line as a connection for a runtime.
func (l *Line) Connection() runtime.Connection { return lineConnection{l} }

type lineConnection struct{ *Line }

func (c lineConnection) Send(e wire.Envelope) error { return c.put(e) }

// Send delivers an envelope to the gateway.
func (l *Line) Send(tb testing.TB, e wire.Envelope) {
	tb.Helper()
	l.queue(e.Sender)
	if err := l.port.Receive(tb.Context(), e); err != nil {
		tb.Fatal(err)
	}
}

// Next returns the next envelope to an agent.
func (l *Line) Next(tb testing.TB, agent string) wire.Envelope {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	e, done, err := l.queue(agent).Take(ctx)
	if err != nil {
		tb.Fatalf("no envelope to %s: %v", agent, err)
	}
	done()
	return e
}
