package aea

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/uimgate/uimgate/bindings/aea/connections/delegate"
	"github.com/uimgate/uimgate/bindings/aea/connections/mailbox"
	"github.com/uimgate/uimgate/bindings/aea/connections/stub"
	"github.com/uimgate/uimgate/bindings/aea/connections/tcp"
	"github.com/uimgate/uimgate/bindings/aea/node"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill"
	"github.com/uimgate/uimgate/bindings/aea/wire"
	"github.com/uimgate/uimgate/gateway/service"
)

// ids are the connections by their names in the configuration.
var ids = map[string]wire.PublicID{"tcp": tcp.ID, "delegate": delegate.ID, "mailbox": mailbox.ID, "stub": stub.ID}

// A listener is a connection that agents come to.
type listener interface {
	runtime.Connection
	Address() string
	Close() error
}

// An agent is that of one service.
type agent struct {
	service   string
	settings  service.AEADoor
	runtime   *runtime.Runtime
	skill     *skill.Skill
	listeners map[string]listener // by their names in the configuration

	stopped chan struct{} // closed by stop
	ended   chan struct{} // closed once all has ended
	once    sync.Once
	begun   atomic.Bool // by run, or by wait instead
}

// open makes the agent of a service, and listens. It runs nothing yet. The memory of the process is for as many agents.
func (d *Door) open(ctx context.Context, s *service.Service, agents int) (_ *agent, err error) {
	set := s.Doors.AEA
	limits := runtime.DefaultLimits
	limits.Drain = d.DrainTimeout()
	relays := set.Relay.Max > 0
	if relays {
		limits.Relay = set.Relay
	}
	a := &agent{
		service: s.ID, settings: set, listeners: map[string]listener{}, stopped: make(chan struct{}), ended: make(chan struct{}),
		runtime: runtime.New(set.Address, runtime.Options{
			Now: d.Now, Limits: limits, Log: d.Log, Routing: routing(&set), Agents: agents,
		}),
	}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	var own *node.Node
	if set.Delegate != "" || set.Mailbox != "" {
		if own, err = node.Open(d.Keys.of(set.Address), d.Keys.files.Certificate(s.ID), d.Now()); err != nil {
			return nil, fmt.Errorf("its certificate: %w", err)
		}
	}
	for _, l := range []struct {
		name, address string
		listen        func(address string) (listener, error)
	}{
		{"delegate", set.Delegate, func(at string) (listener, error) { return delegate.Listen(ctx, at, own, delegate.Bounds{}, d.Now) }},
		{"mailbox", set.Mailbox, func(at string) (listener, error) { return mailbox.Listen(ctx, at, own, mailbox.Bounds{}, d.Now) }},
		{"tcp", set.TCP, func(at string) (listener, error) { return tcp.Listen(ctx, at, tcp.Bounds{}) }},
	} {
		if l.address == "" {
			continue
		}
		opened, err := l.listen(l.address)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		a.listeners[l.name] = opened
		proven := l.name != "tcp" // who comes by it
		if err := a.runtime.Connect(opened, runtime.ConnectionOptions{Relay: relays && proven}); err != nil {
			return nil, err
		}
	}
	if set.Stub != "" {
		if err := a.runtime.Connect(stub.New(set.Stub), runtime.ConnectionOptions{}); err != nil {
			return nil, err
		}
	}
	a.skill = skill.New(skill.Config{
		Door: Name, ID: s.ID, Address: set.Address, Serving: func() *service.Service { return d.serving(s.ID) }, API: d.API(), Desk: d.Desk,
		Shed: d.Shed, Memory: d.Memory, Now: d.Now, Log: d.Log, HTTP: set.HTTP, Clear: set.Clear,
	})
	return a, a.runtime.Resources().Add(a.skill.Skill())
}

// routing says by which connections messages leave that answer none.
func routing(set *service.AEADoor) runtime.Routing {
	r := runtime.Routing{Default: ids[set.DefaultConnection], ByProtocol: map[wire.PublicID]wire.PublicID{}}
	for protocol, connection := range set.DefaultRouting {
		if id, err := wire.ParsePublicID(protocol); err == nil {
			r.ByProtocol[id] = ids[connection]
		}
	}
	return r
}

// close gives back what an agent has that never runs.
func (a *agent) close() {
	for _, l := range a.listeners {
		_ = l.Close()
	}
	if a.skill != nil {
		a.skill.Close()
	}
}

// run runs the agent until ctx ends, or it is stopped, once.
func (a *agent) run(ctx context.Context) {
	if a.begun.Swap(true) {
		return
	}
	defer close(a.ended)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-a.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	a.runtime.Run(ctx)
	a.skill.Close()
}

// stop has the agent end: it takes nothing more.
func (a *agent) stop() { a.once.Do(func() { close(a.stopped) }) }

// wait waits until the agent has ended, or ctx, and returns how many messages were under way then. One that never ran ends here.
func (a *agent) wait(ctx context.Context) (left int) {
	if !a.begun.Swap(true) {
		a.close()
		close(a.ended)
	}
	select {
	case <-a.ended:
		return 0
	case <-ctx.Done():
		in := a.runtime.Status().InBox
		return in.Working + in.Waiting
	}
}

// addresses are what agents need to come in.
func (a *agent) addresses() map[string]string {
	all := map[string]string{"address": a.settings.Address, "node_key": a.settings.NodeKey}
	for name, l := range a.listeners {
		all[name] = l.Address()
	}
	if a.settings.Stub != "" {
		all["stub"] = a.settings.Stub
	}
	return all
}
