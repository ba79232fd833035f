// Package aea is the door for agents of the AEA framework. Each service that opens the door is an agent with an address; it negotiates
// PATs with other agents and executes their calls. The door does not use the public listener. It uses the connections through which
// agents of the frameworks agents-aea and open-aea reach each other.
//
// The packages below aea are the parts of an agent: its runtime, its connections, and the skill that replies to other agents.
package aea

import (
	"context"
	"encoding/hex"
	"fmt"
	"reflect"

	"github.com/uimgate/uimgate/bindings/aea/agreement"
	"github.com/uimgate/uimgate/bindings/aea/connections/local"
	"github.com/uimgate/uimgate/bindings/aea/skill/directory"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/pat"
)

// Name is the door's name in logs, metrics and audit records.
const Name = "aea"

// A Door runs the agents of all services that open it. It is safe for concurrent use.
type Door struct {
	door.Process

	local  *local.Node   // joins the agents of the services that have the connection local
	fetch  *fetch.Client // sends the requests of skills
	agents door.Agents[*agent]
}

// Name implements door.Module.
func (d *Door) Name() string { return Name }

// Blocks implements door.Configurable.
func (d *Door) Blocks() config.Blocks {
	return config.Blocks{Doors: []config.Block{{
		Key: Name, Settings: (*Settings)(nil),
		Doc: "The AEA framework: the service is an agent that negotiates agreements and executes calls. Open if this block is present.",
	}}}
}

// Form implements door.FormSource.
func (d *Door) Form() pat.Form { return agreement.Form() }

// Provision implements door.Module.
func (d *Door) Provision(_ context.Context, p door.Process) error {
	d.Process, d.local = p, local.NewNode()
	if d.fetch = p.Documents; d.fetch == nil {
		d.fetch = fetch.New(fetch.Options{UserAgent: "uimgate"})
	}
	return nil
}

// Prepare implements door.Preparer.
func (d *Door) Prepare(s *service.Definition) (err error) {
	own := SettingsOf(s)
	if own == nil {
		return nil
	}
	if own.key.IsEmpty() {
		own.key, err = d.Data.PrivateKey(Name, s.ID)
	}
	var private []byte
	if err == nil {
		if private, err = hex.DecodeString(own.key.Reveal()); err != nil {
			err = identity.ErrKey // the other error quotes a digit
		}
	}
	if err == nil {
		own.identity, err = identity.NewKey(private)
	}
	if err != nil {
		return fmt.Errorf("loading the AEA key of %s: %w", s.ID, err)
	}
	public := own.identity.Public(identity.Fetchai)
	own.Address, own.NodeKey = public.Address(), public.String()
	return nil
}

// Open implements door.Opener. The agents of services whose settings have not changed keep running.
func (d *Door) Open(ctx context.Context, services []*service.Service) error {
	o := door.OpenRequest[*agent]{
		Drain: d.DrainTimeout(), Good: func(a *agent, s *service.Service) bool {
			return reflect.DeepEqual(SettingsOf(s.Definition).changeable(), a.settings.changeable())
		},
		Update: func(ctx context.Context, a *agent, s *service.Service) error {
			return a.follow(ctx, SettingsOf(s.Definition), directory.Config{Address: a.settings.Address, Now: d.Now})
		},
	}
	for _, s := range services {
		if SettingsOf(s.Definition) != nil {
			o.Services = append(o.Services, s)
		}
	}
	o.New = func(ctx context.Context, s *service.Service) (*agent, error) { return d.open(ctx, s, len(o.Services)) }
	if err := d.agents.Open(ctx, o); err != nil {
		return fmt.Errorf("doors.aea: %w", err)
	}
	return nil
}

// Run implements door.Runner.
func (d *Door) Run(ctx context.Context) error { return d.agents.Run(ctx) }

// Drain implements door.Runner.
func (d *Door) Drain(ctx context.Context) (left int) { return d.agents.Drain(ctx) }

// Status implements door.Reporter.
func (d *Door) Status(s *service.Service) (door.Status, bool) {
	a, open := d.agents.Of(s.ID)
	if !open {
		return door.Status{}, false
	}
	return door.Status{Door: Name, Addresses: a.addresses(), Activity: a.runtime.Status()}, true
}
