// Package mrp is the door of the Machine Relay Protocol. Each service that opens the door is an agent on a relay, in this process or
// elsewhere, and its intents are the capabilities of that agent. Requests and responses are messages, so agents need neither an address
// nor a port.
//
// Package relay implements the relay, and package relayhost serves it on a listener. The door itself contains no rules: a door.Host
// executes the requests.
package mrp

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/bindings/mrp/agreement"
	"github.com/uimgate/uimgate/bindings/mrp/relayhost"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/pat"
)

// Name is the door's name in logs, metrics and audit records.
const Name = "mrp"

// A Door runs the agents of all services that open it, and the relay of this process. It is safe for concurrent use.
type Door struct {
	door.Process

	relay  *relayhost.Host // nil: this process runs no relay
	agents door.Agents[*agent]
}

// Name implements door.Module.
func (d *Door) Name() string { return Name }

// Blocks implements door.Configurable.
func (d *Door) Blocks() config.Blocks {
	return config.Blocks{
		Doors: []config.Block{{
			Key: Name, Settings: (*Settings)(nil),
			Doc: "The Machine Relay Protocol: the service is an agent on a relay, and replies to messages. Open if this block is present.",
		}},
		Beside: []config.Block{{
			Key: relayhost.Key, Settings: (*relayhost.Settings)(nil), Restart: true,
			Doc: "A relay of the Machine Relay Protocol: agents send each other messages and files through it. Open if this block is present; it may be {}.",
		}},
	}
}

// Form implements door.FormSource.
func (d *Door) Form() pat.Form { return agreement.Form() }

// Provision implements door.Module. It binds the listener of the relay.
func (d *Door) Provision(ctx context.Context, p door.Process) error {
	d.Process = p
	var err error
	d.relay, err = relayhost.Open(ctx, p)
	return err
}

// URLs implements door.Listener.
func (d *Door) URLs() map[string]string {
	if d.relay == nil {
		return nil
	}
	return map[string]string{relayhost.Key: d.relay.URL()}
}

// Prepare implements door.Preparer.
func (d *Door) Prepare(s *service.Definition) (err error) {
	own := SettingsOf(s)
	if own == nil {
		return nil
	}
	if own.seed.IsEmpty() {
		own.seed, err = d.Data.PrivateKey(Name, s.ID)
	}
	var private ed25519.PrivateKey
	if err == nil {
		private, err = own.private()
	}
	if err != nil {
		return fmt.Errorf("the MRP identity of %s: %w", s.ID, err)
	}
	own.Key = wire.KeyOf(private).String()
	return nil
}

// Open implements door.Opener. If the key and the relay of a service are unchanged, its agent continues to run and sends its new profile
// to the relay.
func (d *Door) Open(ctx context.Context, services []*service.Service) error {
	o := door.OpenRequest[*agent]{
		New: d.open, Update: func(ctx context.Context, a *agent, s *service.Service) error { return a.publish(ctx, s) }, Drain: d.DrainTimeout(),
		Good: func(a *agent, s *service.Service) bool {
			own := SettingsOf(s.Definition)
			return own.Key == a.settings.Key && own.Relay == a.settings.Relay
		},
	}
	for _, s := range services {
		if SettingsOf(s.Definition) != nil {
			o.Services = append(o.Services, s)
		}
	}
	if err := d.agents.Open(ctx, o); err != nil {
		return fmt.Errorf("doors.mrp: %w", err)
	}
	return nil
}

// Run implements door.Runner.
func (d *Door) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.agents.Run(ctx) })
	if d.relay != nil {
		group.Go(func() error { return d.relay.Run(ctx) })
	}
	return group.Wait()
}

// Drain implements door.Runner.
func (d *Door) Drain(ctx context.Context) (left int) { return d.agents.Drain(ctx) }

// ErrNoRelay means that a service uses the relay of this process, but the process runs no relay.
var ErrNoRelay = errors.New("doors.mrp.relay is local, but this gateway runs no relay: add the block mrp_relay and restart the gateway")

// open creates the agent of a service, but does not run it.
func (d *Door) open(ctx context.Context, s *service.Service) (*agent, error) {
	set := SettingsOf(s.Definition)
	private, err := set.private()
	if err != nil {
		return nil, err
	}
	box, err := d.mailbox(ctx, set.Relay, private)
	if err != nil {
		return nil, err
	}
	return newAgent(d, s.ID, set, private, box), nil
}

// Status implements door.Reporter.
func (d *Door) Status(s *service.Service) (door.Status, bool) {
	a, open := d.agents.Of(s.ID)
	if !open {
		return door.Status{}, false
	}
	at := a.settings.Relay
	if at == LocalRelay && d.relay != nil {
		at = d.relay.URL()
	}
	return door.Status{Door: Name, Addresses: map[string]string{"key": a.settings.Key, "relay": at}, Activity: a.activity()}, true
}
