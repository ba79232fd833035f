// Package aea is the door of the AEA framework: each service that opens it is an agent with an address, which negotiates PATs and
// answers calls of other agents. It does not sit on the public listener, but has connections of its own: those by which agents of
// the framework, agents-aea and open-aea, reach each other.
//
// What an agent is made of stands below: the wire, its runtime, its connections, and the skill that answers.
package aea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/memory"
	"github.com/uimgate/uimgate/internal/reason"
)

// Name is how the door is called in logs, metrics and audit records.
const Name = "aea"

// A Config is what a Door is built on. All of it is required.
type Config struct {
	Desk *agree.Desk
	Keys *Keys
	// API is the handler of the public listener, once there is one. It answers what comes in messages.
	API func() http.Handler
	// Services are those that are served now.
	Services func() []*service.Service
	// DrainTimeout is how long what is under way may last once an agent ends.
	DrainTimeout func() time.Duration
	Shed         func(reason.Cause) // counts what is refused because there is too much to do
	Memory       *memory.Budget     // of requests, which calls in messages share
	Now          func() time.Time
	Log          *zap.Logger
}

// A Door runs the agents of all services that open it. It is safe for concurrent use.
type Door struct {
	Config

	opening sync.Mutex // one Open or Drain at a time
	mu      sync.Mutex // guards what follows
	agents  map[string]*agent
	start   func(*agent) // nil: Run has not begun
}

// New makes a Door.
func New(c Config) *Door { return &Door{Config: c, agents: map[string]*agent{}} }

// Route is empty: the door has no path of the public listener.
func (d *Door) Route(*service.Definition, string) string { return "" }

// Serve is never called.
func (d *Door) Serve(http.ResponseWriter, *http.Request, *door.Visit) {}

// Open implements door.Opener. Agents of services that say the same as before go on.
func (d *Door) Open(ctx context.Context, services []*service.Service) error {
	d.opening.Lock()
	defer d.opening.Unlock()
	wanted := map[string]*service.Service{}
	for _, s := range services {
		if s.Doors.AEA.Open {
			wanted[s.ID] = s
		}
	}
	d.end(ctx, func(a *agent) bool {
		s := wanted[a.service]
		return s == nil || !reflect.DeepEqual(s.Doors.AEA, a.settings)
	})
	var errs []error
	for _, s := range services {
		if wanted[s.ID] == nil || d.agent(s.ID) != nil {
			continue
		}
		a, err := d.open(ctx, s, len(wanted))
		if err != nil {
			errs = append(errs, fmt.Errorf("the agent of %s: %w", s.ID, err))
			continue
		}
		d.add(a)
	}
	return errors.Join(errs...)
}

// serving returns the service with an id as it is served at the moment; nil where it is not any more.
func (d *Door) serving(id string) *service.Service {
	for _, s := range d.Services() {
		if s.ID == id {
			return s
		}
	}
	return nil
}

func (d *Door) agent(service string) *agent {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.agents[service]
}

// add has an agent run, where the others do.
func (d *Door) add(a *agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.agents[a.service] = a
	if d.start != nil {
		d.start(a)
	}
}

// end ends agents, and waits until what was under way has ended, or ctx. It returns how much had not.
func (d *Door) end(ctx context.Context, which func(*agent) bool) (left int) {
	var ending []*agent
	d.mu.Lock()
	for id, a := range d.agents {
		if which(a) {
			ending = append(ending, a)
			delete(d.agents, id)
		}
	}
	d.mu.Unlock()
	for _, a := range ending {
		a.stop()
	}
	for _, a := range ending {
		left += a.wait(ctx)
	}
	return left
}

// Run implements door.Runner.
func (d *Door) Run(ctx context.Context) error {
	var running sync.WaitGroup
	d.mu.Lock()
	d.start = func(a *agent) { running.Go(func() { a.run(ctx) }) }
	for _, a := range d.agents {
		d.start(a)
	}
	d.mu.Unlock()
	<-ctx.Done()
	d.mu.Lock()
	d.start = func(a *agent) { a.stop() }
	d.mu.Unlock()
	running.Wait()
	return nil
}

// Drain implements door.Runner: agents take nothing more, and what is under way is answered.
func (d *Door) Drain(ctx context.Context) (left int) {
	d.opening.Lock()
	defer d.opening.Unlock()
	return d.end(ctx, func(*agent) bool { return true })
}

// Status implements door.Reporter.
func (d *Door) Status(s *service.Service) (door.Status, bool) {
	a := d.agent(s.ID)
	if a == nil {
		return door.Status{}, false
	}
	return door.Status{Door: Name, Addresses: a.addresses(), Activity: a.runtime.Status()}, true
}
