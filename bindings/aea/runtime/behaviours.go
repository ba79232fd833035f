package runtime

import (
	"context"
	"time"
)

// act runs behaviours when they are due, until ctx ends.
func (r *Runtime) act(ctx context.Context) {
	for {
		pause := r.retire()
		now := r.now()
		for _, b := range r.filter.behaviours() {
			if b.due.IsZero() {
				b.due = now.Add(b.After)
			}
			switch {
			case b.done:
			case now.Before(b.due):
				pause = min(pause, b.due.Sub(now))
			case !b.running.CompareAndSwap(false, true): // it is still running, and its end wakes this loop
			case r.tasks.add(job{of: b.of, do: b.act(r)}) != nil: // too many tasks are waiting
				b.running.Store(false)
				pause = min(pause, time.Second)
			case b.Once:
				b.done = true
			default:
				b.due = now.Add(b.Every)
				pause = min(pause, b.Every)
			}
		}
		select {
		case <-time.After(pause):
		case <-r.resources.changed:
		case <-ctx.Done():
			return
		}
	}
}

// act returns the work that runs a behaviour once.
func (b *behaviour) act(r *Runtime) func(context.Context) {
	return func(ctx context.Context) {
		defer r.resources.wake()
		defer b.running.Store(false)
		b.acted.Store(true)
		err := r.guard(func() error { return b.Act(ctx) })
		b.runs.Add(1)
		if err != nil {
			b.failed.Add(1)
		}
		r.note(b.of, err)
	}
}

// retire stops the behaviours of removed skills. It returns the time until it must be called again.
func (r *Runtime) retire() (pause time.Duration) {
	r.resources.mu.Lock()
	retired := r.resources.retired
	r.resources.retired = nil
	r.resources.mu.Unlock()
	pause = time.Hour
	var left []*behaviour
	for _, b := range retired {
		switch {
		case !b.running.CompareAndSwap(false, true): // its end wakes the loop
			left = append(left, b)
		case r.tasks.add(job{of: b.of, do: b.stop(r)}) != nil:
			b.running.Store(false)
			left, pause = append(left, b), time.Second
		}
	}
	r.resources.mu.Lock()
	defer r.resources.mu.Unlock()
	r.resources.retired = append(left, r.resources.retired...)
	return pause
}

// stop returns the work that stops a behaviour, if it has acted. Then the behaviour counts as running forever.
func (b *behaviour) stop(r *Runtime) func(context.Context) {
	return func(ctx context.Context) {
		if b.Stop != nil && b.acted.CompareAndSwap(true, false) {
			r.note(b.of, r.guard(func() error { return b.Stop(ctx) }))
		}
	}
}

// stopBehaviours stops all behaviours that are not running, when the runtime stops.
func (r *Runtime) stopBehaviours(ctx context.Context) {
	r.resources.mu.Lock()
	all := r.resources.retired
	for _, s := range r.resources.skills {
		all = append(all, s.behaviours...)
	}
	r.resources.retired = nil
	r.resources.mu.Unlock()
	for _, b := range all {
		if b.running.CompareAndSwap(false, true) {
			b.stop(r)(ctx)
		}
	}
}
