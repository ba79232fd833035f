package pat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// PollEvery is how often a View asks the store what changed.
	PollEvery = 250 * time.Millisecond
	// askAgain is how soon after a change a View asks the store.
	askAgain = 10 * time.Millisecond
	// MaxAge is how old a View may be and still be believed.
	MaxAge = time.Second
	// sweepEvery is how often a View forgets revocations that no PAT can need any more.
	sweepEvery = time.Minute
	// pollTimeout bounds one question to the store.
	pollTimeout = 5 * time.Second
)

// A View is what this process knows of revocations, blocked agents and signing keys: everything the
// store has committed, at most MaxAge ago while Fresh says so. It is safe for concurrent use.
type View struct {
	store ViewStore
	keys  *Keyring
	now   func() time.Time

	turn      chan struct{} // held by the one Refresh that talks to the store
	started   atomic.Uint64 // Refreshes that have begun to talk to the store
	succeeded atomic.Uint64 // the number of the last one that succeeded
	asOf      atomic.Pointer[time.Time]
	swept     time.Time // guarded by turn
	seq       int64     // guarded by turn

	mu      sync.RWMutex
	ended   map[RevocationKind]map[subject]ending
	blocked map[subject]string
}

type subject struct{ service, id string }

type ending struct{ at, until time.Time }

// NewView makes a View that knows nothing yet, so that Fresh is false until it was refreshed. keys is told of
// signing keys.
func NewView(s ViewStore, keys *Keyring, now func() time.Time) *View {
	return &View{
		store: s, keys: keys, now: now, turn: make(chan struct{}, 1),
		ended: map[RevocationKind]map[subject]ending{}, blocked: map[subject]string{},
	}
}

// Run refreshes the View every PollEvery until ctx ends, then returns nil; sooner where the store has a method
// Changed() <-chan struct{} whose channel is closed. A store that fails makes the View old, which Fresh tells; failed, which may be
// nil, is told why.
func (v *View) Run(ctx context.Context, failed func(error)) error {
	ticker := time.NewTicker(PollEvery)
	defer ticker.Stop()
	changed := func() <-chan struct{} { return nil }
	if teller, ok := v.store.(interface{ Changed() <-chan struct{} }); ok {
		changed = teller.Changed
	}
	for {
		told := changed()
		if err := v.poll(ctx); err != nil && ctx.Err() == nil && failed != nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			continue
		case <-told:
		}
		select { // what comes with it is asked for together
		case <-ctx.Done():
			return nil
		case <-time.After(askAgain):
		}
	}
}

func (v *View) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	return v.Refresh(ctx)
}

// Refresh applies everything that was committed before it was called, such as this process's own writes.
// An error may also tell of a signing key that cannot be read; the View is fresh nevertheless.
func (v *View) Refresh(ctx context.Context) error {
	before := v.started.Load()
	select {
	case v.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-v.turn }()
	if v.succeeded.Load() > before { // another one began after we were called
		return nil
	}
	number := v.started.Add(1)
	asked := v.now()
	changes, seq, err := v.store.Changes(ctx, v.seq)
	if err != nil {
		return fmt.Errorf("asking what changed: %w", err)
	}
	unreadable := v.apply(changes)
	v.seq = seq // less than before where the database was restored
	if asked.Sub(v.swept) >= sweepEvery {
		v.sweep(asked)
		v.swept = asked
	}
	v.asOf.Store(&asked)
	v.succeeded.Store(number)
	return unreadable
}

// apply takes changes in commit order, all of them even where one is unreadable: a signing key that
// cannot be read verifies nothing, which is safe. It returns what could not be read.
func (v *View) apply(changes []Change) error {
	var errs []error
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range changes {
		switch {
		case c.Revocation != nil:
			v.end(*c.Revocation)
		case c.Agent != nil:
			who := subject{c.Agent.Service, string(c.Agent.ID)}
			if c.Agent.Status == AgentActive {
				delete(v.blocked, who)
			} else {
				v.blocked[who] = c.Agent.Reason
			}
		case c.Key != nil:
			errs = append(errs, v.keys.Apply(*c.Key))
		}
	}
	return errors.Join(errs...)
}

// end notes a revocation. Of two of one subject the stricter bounds count: a later At ends more PATs, but
// the end of a renewed token only ever comes nearer.
func (v *View) end(r Revocation) {
	of := v.ended[r.Kind]
	if of == nil {
		of = map[subject]ending{}
		v.ended[r.Kind] = of
	}
	who, e := subject{r.Service, r.Subject}, ending{r.At, r.Until}
	if known, ok := of[who]; ok {
		if known.at.After(e.at) != (r.Kind == RevokedRenewed) {
			e.at = known.at
		}
		if known.until.After(e.until) {
			e.until = known.until
		}
	}
	of[who] = e
}

// note applies what this process has just written, ahead of the next Refresh.
func (v *View) note(r Revocation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.end(r)
}

func (v *View) sweep(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, of := range v.ended {
		maps.DeleteFunc(of, func(_ subject, e ending) bool { return now.After(e.until) })
	}
}

// Fresh reports whether what the View knows is at most MaxAge old. Where it is not, or the clock went wrong
// since, nobody may be let in.
func (v *View) Fresh(now time.Time) bool {
	asOf := v.asOf.Load()
	return asOf != nil && now.Sub(*asOf).Abs() <= MaxAge
}

// Blocked reports whether an agent is blocked.
func (v *View) Blocked(service string, id AgentID) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	_, blocked := v.blocked[subject{service, string(id)}]
	return blocked
}

// check returns ErrBlocked or ErrRevoked if the PAT was ended by now. Being renewed ends it too, unless it is
// for a renewal that it is shown: which of those still count, the Store says.
func (v *View) check(service string, c *Claims, now time.Time, renewal bool) error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if _, blocked := v.blocked[subject{service, string(c.Subject)}]; blocked {
		return ErrBlocked
	}
	if _, ok := v.ended[RevokedToken][subject{service, string(c.ID)}]; ok {
		return ErrRevoked
	}
	if _, ok := v.ended[RevokedAgreement][subject{service, string(c.Agreement)}]; ok {
		return ErrRevoked
	}
	if e, ok := v.ended[RevokedRenewed][subject{service, string(c.ID)}]; ok && !renewal && !now.Before(e.at) {
		return ErrRevoked
	}
	if last := v.endedUpTo(service, c); !last.Before(c.IssuedAt) {
		return ErrRevoked
	}
	return nil
}

// endedUpTo is the time up to which the PATs of the agent, or of the policy, were ended.
func (v *View) endedUpTo(service string, c *Claims) time.Time {
	at := v.ended[RevokedAgent][subject{service, string(c.Subject)}].at
	if policy := v.ended[RevokedPolicy][subject{service, c.PolicyDigest}].at; policy.After(at) {
		at = policy
	}
	return at
}

// firstIssue is when a PAT with these claims can be issued at the earliest so that no revocation made before
// it ends it: PATs count in whole seconds.
func (v *View) firstIssue(service string, c *Claims, now time.Time) time.Time {
	v.mu.RLock()
	defer v.mu.RUnlock()
	first := now.Truncate(time.Second)
	if at := v.endedUpTo(service, c); !at.Before(first) {
		return at.Truncate(time.Second).Add(time.Second)
	}
	return first
}
