package door

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/service"
)

// An Agent is what a Door runs for one service beside its requests: something that listens, or has a place elsewhere.
type Agent interface {
	// Run takes what comes until taking ends, and works on that until it is done, or working ends. All that it has begun has ended when
	// it returns. It is called once at most.
	Run(taking, working context.Context)
	// Close gives back what an agent has that is never run.
	Close()
	// UnderWay is how much is being worked on. It may be called at any time.
	UnderWay() int
}

// Agents are those of the services of a Door. The zero value has none. It is safe for concurrent use.
type Agents[A Agent] struct {
	opening sync.Mutex // one Open or Drain at a time
	mu      sync.Mutex // guards what follows
	of      map[string]*life[A]
	start   func(*life[A]) // nil: Run has not begun
}

// An Opening says which agents there are to be.
type Opening[A Agent] struct {
	Services []*service.Service // that are to have one, which are all
	// Good reports whether the agent of a service may go on. One that may not ends before others are made.
	Good func(a A, s *service.Service) bool
	// New makes the agent of a service, which takes nothing yet.
	New func(ctx context.Context, s *service.Service) (A, error)
	// Tell tells an agent what its service is now: one that goes on, and one that is new, before it runs; nil: there is nothing to tell.
	Tell func(ctx context.Context, a A, s *service.Service) error
	// Drain is how long what is under way may last where an agent ends.
	Drain time.Duration
}

// Open has those agents run that there are to be, now or once Run is called. The errors are of what could not be made or told; all else
// is open.
func (as *Agents[A]) Open(ctx context.Context, o Opening[A]) error {
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

// open has the agent of one service go on, or begin.
func (as *Agents[A]) open(ctx context.Context, o Opening[A], s *service.Service) (err error) {
	a, known := as.Of(s.ID)
	if !known {
		if a, err = o.New(ctx, s); err != nil {
			return err
		}
	}
	if o.Tell != nil {
		err = o.Tell(ctx, a, s)
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

// Of returns the agent of a service, and false where it has none.
func (as *Agents[A]) Of(id string) (a A, ok bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if l := as.of[id]; l != nil {
		return l.agent, true
	}
	return a, false
}

// add has an agent run, where the others do.
func (as *Agents[A]) add(id string, a A) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if as.of == nil {
		as.of = map[string]*life[A]{}
	}
	l := newLife(a)
	as.of[id] = l
	if as.start != nil {
		as.start(l)
	}
}

// end ends agents, waits until what was under way has ended, or ctx, and cuts off the rest. It returns how much that was.
func (as *Agents[A]) end(ctx context.Context, which func(id string, a A) bool) (left int) {
	var ending []*life[A]
	as.mu.Lock()
	for id, l := range as.of {
		if which(id, l.agent) {
			ending = append(ending, l)
			delete(as.of, id)
		}
	}
	as.mu.Unlock()
	for _, l := range ending {
		l.stop()
	}
	for _, l := range ending {
		left += l.wait(ctx)
	}
	return left
}

// Run runs the agents until ctx ends, which ends those that there are, as Runner has it. It is called once.
func (as *Agents[A]) Run(ctx context.Context) error {
	var running sync.WaitGroup
	as.mu.Lock()
	as.start = func(l *life[A]) { running.Go(func() { l.run(ctx) }) }
	for _, l := range as.of {
		as.start(l)
	}
	as.mu.Unlock()
	<-ctx.Done()
	as.mu.Lock()
	as.start = func(l *life[A]) { l.unrun() }
	as.mu.Unlock()
	running.Wait()
	return nil
}

// Drain ends all agents, as Runner has it: they take nothing more, and what is under way is answered.
func (as *Agents[A]) Drain(ctx context.Context) (left int) {
	as.opening.Lock()
	defer as.opening.Unlock()
	return as.end(ctx, func(string, A) bool { return true })
}

// Serving returns the service with an id among those that are served; nil: it is none of them.
func Serving(services []*service.Service, id string) *service.Service {
	for _, s := range services {
		if s.ID == id {
			return s
		}
	}
	return nil
}
