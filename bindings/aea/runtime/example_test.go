package runtime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A program adds its own skill to an agent. The skill replies with the time, and strikes the hours.
func Example() {
	r := runtime.New("clock.example.com", runtime.Options{Now: time.Now})
	struck := make(chan struct{}, 1)
	err := r.Resources().Add(runtime.Skill{
		ID: wire.PublicID{Author: "example", Name: "clock", Version: "1.0.0"},
		Handlers: []runtime.Handler{{Protocol: &protocol.Default, Handle: func(_ context.Context, m runtime.Message) error {
			query, _ := m.Content.(protocol.DefaultMessage)
			switch {
			case query.Performative != protocol.DefaultBytes: // an end or an error, which gets no reply
				return nil
			case string(query.Bytes) != "what time is it?":
				return protocol.ErrMessage // the runtime sends this error to the sender
			}
			return m.Reply(protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: []byte("noon")})
		}}},
		Behaviours: []runtime.Behaviour{{Name: "strike", Every: time.Hour, Act: func(context.Context) error {
			struck <- struct{}{}
			return nil
		}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	agents := newLine("local") // in a program: one of the packages bindings/aea/connections/…
	if err := r.Connect(agents, runtime.ConnectionOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { r.Run(ctx); close(ended) }()

	<-agents.ready
	asking := dialogue.New("ann", dialogue.DefaultLimits, time.Now)
	question := protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: []byte("what time is it?")}
	_, e, _ := asking.Start(protocol.Default.Specs[0], r.Address(), question)
	_ = agents.port.Receive(ctx, e)
	e, sent, _ := agents.queue("ann").Take(ctx)
	sent()
	turn, _ := asking.Receive(e)
	if answer, ok := turn.Content.(protocol.DefaultMessage); ok {
		fmt.Println(string(answer.Bytes))
	}
	<-struck
	stop()
	<-ended
	// Output: noon
}
