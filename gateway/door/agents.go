package door

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/service"
)

// An Agent represents one service in the network of a Door. It listens on a separate port, or is connected to a relay or a node.
type Agent interface {
	// Run accepts messages until the context taking ends. It continues to handle accepted messages until all of them have a reply or the
	// context working ends. It returns after all its goroutines have ended. Run is called at most once.
	Run(taking, working context.Context)
	// Close releases the resources of an agent that is never run.
	Close()
	// UnderWay returns the number of messages in progress. It may be called at any time, from any goroutine.
	UnderWay() int
}

// Agents runs the agents of a Door, at most one for each service. The zero value has no agents. It is safe for concurrent use.
type Agents[A Agent] struct {
	opening sync.Mutex // one Open or Drain at a time
	mu      sync.Mutex // guards the fields below
	of      map[string]*agentRunner[A]
	start   func(*agentRunner[A]) // nil: Run has not been called
}

// An OpenRequest is the input of Open: the services that need an agent, and how to create and update agents.
type OpenRequest[A Agent] struct {
	Services []*service.Service // all services that have an agent
	// Good reports whether the agent of a service can continue under the service's current settings. Open ends all other agents before it
	// creates new ones.
	Good func(a A, s *service.Service) bool
	// New creates the agent of a service. The agent accepts no messages until it runs.
	New func(ctx context.Context, s *service.Service) (A, error)
	// Update passes the current version of a service to its agent: to a running agent after a reload, to a new one before it runs. nil:
	// agents need no update.
	Update func(ctx context.Context, a A, s *service.Service) error
	// Drain is how long Open waits for the messages in progress of agents that it ends.
	Drain time.Duration
}

// Open reconciles the agents with the configured services. New agents run immediately if Run has been called, and otherwise when Run is
// called. Open returns the errors of agents that could not be created or updated; all other agents are open.
func (as *Agents[A]) Open(ctx context.Context, o OpenRequest[A]) error {
	as.opening.Lock()
	defer as.opening.Unlock()
	wanted := make(map[string]*service.Service, len(o.Services))
	for _, s := range o.Services {
		wanted[s.ID] = s
	}
	drain, cancel := context.WithTimeout(ctx, o.Drain)
	defer cancel()
	as.end(drain, func(id string, a A) bool { return wanted[id] == nil || !o.Good(a, wanted[id]) })
	var errs []error
	for _, s := range o.Services {
		if err := as.open(ctx, o, s); err != nil {
			errs = append(errs, fmt.Errorf("the agent of %s: %w", s.ID, err))
		}
	}
	return errors.Join(errs...)
}

// open updates the agent of one service. If the service has no agent, open first creates it.
func (as *Agents[A]) open(ctx context.Context, o OpenRequest[A], s *service.Service) (err error) {
	a, known := as.Of(s.ID)
	if !known {
		if a, err = o.New(ctx, s); err != nil {
			return err
		}
	}
	if o.Update != nil {
		err = o.Update(ctx, a, s)
	}
	switch {
	case known:
	case err != nil:
		a.Close()
	default:
		as.add(s.ID, a)
	}
	return err
}

// Of returns the agent of a service, and false if the service has none.
func (as *Agents[A]) Of(id string) (a A, ok bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if r := as.of[id]; r != nil {
		return r.agent, true
	}
	return a, false
}

// add adds an agent, and runs it if Run has been called.
func (as *Agents[A]) add(id string, a A) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if as.of == nil {
		as.of = map[string]*agentRunner[A]{}
	}
	r := newAgentRunner(a)
	as.of[id] = r
	if as.start != nil {
		as.start(r)
	}
}

// end calls the function which for each agent, and stops the agent if the result is true. It then waits until these agents have
// ended. If ctx ends first, it cuts off the remaining agents and returns how many messages they abandoned.
func (as *Agents[A]) end(ctx context.Context, which func(id string, a A) bool) (left int) {
	var ending []*agentRunner[A]
	as.mu.Lock()
	for id, r := range as.of {
		if which(id, r.agent) {
			ending = append(ending, r)
			delete(as.of, id)
		}
	}
	as.mu.Unlock()
	for _, r := range ending {
		r.stop()
	}
	for _, r := range ending {
		left += r.wait(ctx)
	}
	return left
}

// Run runs the agents, and those that Open adds, until ctx ends and all of them have ended. It returns nil. It must be called at most once.
// See Runner.
func (as *Agents[A]) Run(ctx context.Context) error {
	var running sync.WaitGroup
	as.mu.Lock()
	as.start = func(r *agentRunner[A]) { running.Go(func() { r.run(ctx) }) }
	for _, r := range as.of {
		as.start(r)
	}
	as.mu.Unlock()
	<-ctx.Done()
	as.mu.Lock()
	as.start = func(r *agentRunner[A]) { r.unrun() }
	as.mu.Unlock()
	running.Wait()
	return nil
}

// Drain ends all agents: they accept no further messages, and finish the messages in progress. If ctx ends first, Drain returns the number
// of abandoned messages. See Runner.
func (as *Agents[A]) Drain(ctx context.Context) (left int) {
	as.opening.Lock()
	defer as.opening.Unlock()
	return as.end(ctx, func(string, A) bool { return true })
}

// Serving returns the service with the given id, or nil if there is none.
func Serving(services []*service.Service, id string) *service.Service {
	for _, s := range services {
		if s.ID == id {
			return s
		}
	}
	return nil
}
