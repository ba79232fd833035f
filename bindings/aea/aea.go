// Package aea is the door of the AEA framework: each service that opens it is an agent with an address, which negotiates PATs and
// answers calls of other agents. It does not sit on the public listener, but has connections of its own: those by which agents of
// the framework, agents-aea and open-aea, reach each other.
//
// What an agent is made of stands below: the wire, its runtime, its connections, and the skill that answers.
package aea

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
)

// Name is how the door is called in logs, metrics and audit records.
const Name = "aea"

// A Config is what a Door is built on. All of it is required.
type Config struct {
	Desk *agree.Desk
	Keys *Keys
	// Host carries out calls in messages, and API is the handler of the public listener, to which messages of http are requests. Both are
	// called once there is a listener.
	Host func() door.Host
	API  func() http.Handler
	// Services are those that are served now.
	Services func() []*service.Service
	// DrainTimeout is how long what is under way may last once an agent ends.
	DrainTimeout func() time.Duration
	Shed         func(reason.Cause) // counts what is refused because there is too much to do
	Memory       *membudget.Budget  // of requests, which calls in messages share
	Now          func() time.Time
	Log          *zap.Logger
}

// A Door runs the agents of all services that open it. It is safe for concurrent use.
type Door struct {
	Config

	agents door.Agents[*agent]
}

// New makes a Door.
func New(c Config) *Door { return &Door{Config: c} }

// Route is empty: the door has no path of the public listener.
func (d *Door) Route(*service.Definition, string) string { return "" }

// Serve is never called.
func (d *Door) Serve(http.ResponseWriter, *http.Request, *door.Visit) {}

// Open implements door.Opener. Agents of services that say the same as before go on.
func (d *Door) Open(ctx context.Context, services []*service.Service) error {
	o := door.Opening[*agent]{
		Drain: d.DrainTimeout(), Good: func(a *agent, s *service.Service) bool { return reflect.DeepEqual(s.Doors.AEA, a.settings) },
	}
	for _, s := range services {
		if s.Doors.AEA.Open {
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
