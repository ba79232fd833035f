// Package mrp is the door of the Machine Relay Protocol: each service that opens it is an agent on a relay, of this process or of
// somebody else, whose capabilities are its intents. Requests come in messages and are answered in messages, so that agents need
// neither an address nor a port.
//
// What a relay is stands below: the wire, encryption, and the relay itself. The door holds no rule of its own: a
// door.Host carries out the requests.
package mrp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// Name is how the door is called in logs, metrics and audit records.
const Name = "mrp"

// A Config is what a Door is built on. All of it is required but Relay and RelayURL.
type Config struct {
	Keys *Keys
	// Relay is that of this process, for services whose relay is service.LocalRelay; it is asked when a service is opened. nil, or a
	// result of nil: there is none.
	Relay func() *relay.Relay
	// RelayURL is where agents reach it, as the operator is told; nil, or empty: that is not known.
	RelayURL func() string
	// Host carries out requests in messages. It is called once there is one.
	Host func() door.Host
	// Services are those that are served now.
	Services func() []*service.Service
	// DrainTimeout is how long what is under way may last once an agent ends.
	DrainTimeout func() time.Duration
	Shed         func(reason.Cause) // counts what is refused because there is too much to do
	// Stranger reports whether the operator of a service has not approved the agent that a key belongs to. Approved agents find places when
	// strangers have taken all of theirs.
	Stranger func(ctx context.Context, service string, key pat.KeyID) bool
	Memory   *membudget.Budget // of requests, of which those in messages are read as well
	Now      func() time.Time
	Log      *zap.Logger
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

// Open implements door.Opener. Agents of services with the same key at the same relay go on, and tell the relay what they offer now.
func (d *Door) Open(ctx context.Context, services []*service.Service) error {
	o := door.Opening[*agent]{
		New: d.open, Tell: func(ctx context.Context, a *agent, s *service.Service) error { return a.publish(ctx, s) }, Drain: d.DrainTimeout(),
		Good: func(a *agent, s *service.Service) bool {
			return s.Doors.MRP.Key == a.settings.Key && s.Doors.MRP.Relay == a.settings.Relay
		},
	}
	for _, s := range services {
		if s.Doors.MRP.Open {
			o.Services = append(o.Services, s)
		}
	}
	if err := d.agents.Open(ctx, o); err != nil {
		return fmt.Errorf("doors.mrp: %w", err)
	}
	return nil
}

// Run implements door.Runner.
func (d *Door) Run(ctx context.Context) error { return d.agents.Run(ctx) }

// Drain implements door.Runner.
func (d *Door) Drain(ctx context.Context) (left int) { return d.agents.Drain(ctx) }

// ErrNoRelay means that a service wants the relay of this process, which runs none.
var ErrNoRelay = errors.New("doors.mrp.relay is local, but this gateway runs no relay: add a block mrp_relay, and restart")

// open makes the agent of a service. It runs nothing yet.
func (d *Door) open(ctx context.Context, s *service.Service) (*agent, error) {
	set := s.Doors.MRP
	private := d.Keys.of(set.Key)
	if private == nil {
		return nil, ErrSeed
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
	if at == service.LocalRelay && d.RelayURL != nil && d.RelayURL() != "" {
		at = d.RelayURL()
	}
	return door.Status{Door: Name, Addresses: map[string]string{"key": a.settings.Key, "relay": at}, Activity: a.activity()}, true
}
