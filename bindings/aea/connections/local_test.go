package connections_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/connections/local"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// An agent of the node passes on the messages that it receives.
type agent struct {
	*runtime.Runtime
	connection *local.Connection
	got        chan runtime.Message
	stop       func()
}

func newAgent(t *testing.T, n *local.Node, address string) *agent {
	t.Helper()
	a := &agent{
		Runtime: runtime.New(address, runtime.Options{Now: time.Now}), connection: n.Connection(address), got: make(chan runtime.Message, 64),
	}
	err := a.Resources().Add(runtime.Skill{
		ID: wire.PublicID{Author: "shop", Name: "takes", Version: "1.0.0"},
		Handlers: []runtime.Handler{{Protocol: &protocol.Default, Handle: func(_ context.Context, m runtime.Message) error {
			a.got <- m
			return nil
		}}},
	})
	if err == nil {
		err = a.Connect(a.connection, runtime.ConnectionOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	a.stop = func() { cancel(); running.Wait() }
	t.Cleanup(a.stop)
	synctest.Wait()
	return a
}

func (a *agent) says(to, text string) error {
	_, err := a.Open(runtime.FirstMessage{To: to, Spec: protocol.Default.Specs[0], Content: runtime.Bytes([]byte(text))})
	return err
}

// TestAgentsOfOneProcess has agents write to each other, reply, and leave.
func TestAgentsOfOneProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := local.NewNode()
		first, second := newAgent(t, node, "first"), newAgent(t, node, "second")
		for i := range 3 { // of different dialogues, so that one may overtake another
			if err := first.says("second", fmt.Sprint("hello ", i)); err != nil {
				t.Fatal(err)
			}
		}
		var last runtime.Message
		for range 3 {
			last = <-second.got
			if last.Sender != "first" || last.Connection != local.ID || !last.Confidential || last.Inside() || !last.Peer().Proven ||
				!last.Peer().HasSession() || !last.Peer().Connected() {
				t.Errorf("got %+v from %+v", last, last.Peer())
			}
		}
		if err := last.Reply(runtime.Bytes([]byte("hello yourself"))); err != nil {
			t.Fatal(err)
		}
		if m, _ := (<-first.got).Content.(runtime.DefaultMessage); string(m.Bytes) != "hello yourself" {
			t.Errorf("got %q", m.Bytes)
		}
		if err := first.says("third", "hello"); !errors.Is(err, runtime.ErrNoPeer) {
			t.Errorf("an unknown agent: %v, want %v", err, runtime.ErrNoPeer)
		}
		if err := first.connection.Send(wire.Envelope{To: "second", Sender: "third"}); !errors.Is(err, wire.ErrUnsendable) {
			t.Errorf("another sender: %v, want %v", err, wire.ErrUnsendable)
		}
		if s := first.connection.State(); s.Peers != 1 || s.Queued != 0 {
			t.Errorf("got %+v", s)
		}
		first.stop()
		if last.Peer().Connected() || second.connection.State().Peers != 0 {
			t.Error("the agent that left is still connected")
		}
		if err := second.says("first", "hello"); !errors.Is(err, runtime.ErrNoPeer) {
			t.Errorf("an agent that left: %v, want %v", err, runtime.ErrNoPeer)
		}
		if err := first.connection.Send(wire.Envelope{To: "second", Sender: "first"}); !errors.Is(err, runtime.ErrDown) {
			t.Errorf("a connection that has ended: %v, want %v", err, runtime.ErrDown)
		}
	})
}

// TestStalledAgent checks that an agent whose handlers hang fills only the queue to it, and delays no other agent.
func TestStalledAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := local.NewNode()
		first, third := newAgent(t, node, "first"), newAgent(t, node, "third")
		stalled := newAgent(t, node, "stalled")
		stalled.got = make(chan runtime.Message) // its handlers wait
		var err error
		for i := 0; err == nil && i < 10_000; i++ {
			err = first.says("stalled", "hello")
		}
		if !errors.Is(err, runtime.ErrFull) {
			t.Errorf("got %v, want %v", err, runtime.ErrFull)
		}
		if err := first.says("third", "hello"); err != nil {
			t.Error(err)
		}
		<-third.got
		drained := stalled.got
		go func() {
			for range drained { // until the test ends
			}
		}()
		stalled.stop()
		close(drained)
	})
}
