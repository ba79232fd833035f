package aea_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/bindings/aea"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill"
)

// An order is the only message of the protocol example/orders: a call to an intent in JSON, or its output.
type order []byte

func (order) Kind() runtime.Performative { return "order" }
func (o order) Encode() []byte           { return o }

func parseOrder(content []byte) (runtime.Content, error) {
	if len(content) > 4096 {
		return nil, fmt.Errorf("%w: the order is too long", runtime.ErrUndecodable)
	}
	return order(content), nil
}

// A program adds a skill to the agents of its services. The skill has its own protocol: agents send orders, the intents skill executes them
// for it, and the skill returns the output. A task counts the orders, and a behaviour prints their number every hour. The configuration has
// doors.aea.skills.own: [orders], and the program imports the package that calls RegisterSkill.
func ExampleRegisterSkill() {
	id := runtime.PublicID{Author: "example", Name: "orders", Version: "1.0.0"}
	orders := &runtime.Protocol{
		Name: "orders", Specs: []runtime.PublicID{id}, Parse: parseOrder,
		Rules: runtime.Rules{
			Starter: "buyer", Responder: "shop", Initial: []runtime.Performative{"order"},
			Replies: map[runtime.Performative][]runtime.Performative{"order": {"order"}},
		},
	}
	aea.RegisterSkill("orders", func(r *runtime.Runtime) (runtime.Skill, error) {
		var mu sync.Mutex
		waiting := map[string]runtime.Message{} // orders without output, by the reference of their call
		var taken atomic.Int64
		take := func(_ context.Context, m runtime.Message) error {
			content, _ := m.Content.(order)
			if _, err := r.Enqueue(id, "count", nil); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			d, err := r.Start(id, runtime.DefaultProtocol().Specs[0], skill.ID.String(), runtime.Bytes(content))
			if err == nil {
				waiting[d.Label().StarterRef] = m
			}
			return err
		}
		executed := func(_ context.Context, m runtime.Message) error {
			output, ok := m.Content.(runtime.DefaultMessage)
			if !ok || !m.Inside() { // calls of agents are for the intents skill
				return nil
			}
			mu.Lock()
			of := waiting[m.Dialogue.Label().StarterRef]
			delete(waiting, m.Dialogue.Label().StarterRef)
			mu.Unlock()
			return of.Reply(order(string(output.Bytes) + output.Text)) // Text is set if the order is not a call
		}
		return runtime.Skill{
			ID: id, Protocols: []*runtime.Protocol{orders},
			Handlers: []runtime.Handler{{Protocol: orders, Handle: take}, {Protocol: runtime.DefaultProtocol(), Handle: executed}},
			Tasks: []runtime.Task{{Name: "count", Execute: func(context.Context, any) (any, error) {
				return taken.Add(1), nil
			}}},
			Behaviours: []runtime.Behaviour{{Name: "report", Every: time.Hour, Act: func(context.Context) error {
				fmt.Println(taken.Load(), "orders")
				return nil
			}}},
		}, nil
	})
}
