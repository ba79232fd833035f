package pat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

const (
	// PollEvery is how often a View reads the changes from the store.
	PollEvery = 250 * time.Millisecond
	// rereadAfter is how soon after a notified change a View reads the store.
	rereadAfter = 10 * time.Millisecond
	// MaxAge is the age up to which a View is fresh.
	MaxAge = time.Second
	// sweepEvery is how often a View deletes revocations that no longer concern any PAT.
	sweepEvery = time.Minute
	// pollTimeout is the maximum duration of one read of the store.
	pollTimeout = 5 * time.Second
)

// A View holds the revocations, blocked agents and signing keys as this process has read them: everything the store committed up to at
// most MaxAge ago while Fresh is true. It is safe for concurrent use.
type View struct {
	store ViewStore
	keys  *keys.Keyring
	now   func() time.Time

	refreshing chan struct{} // held by the one Refresh that reads the store
	started    atomic.Uint64 // number of Refreshes that have started to read the store
	succeeded  atomic.Uint64 // the number of the last one that succeeded
	asOf       atomic.Pointer[time.Time]
	swept      time.Time // guarded by refreshing
	seq        int64     // guarded by refreshing
	agents     atomic.Uint64
	stops      atomic.Pointer[map[stopKey]Stop] // the Stops in force; the map is replaced and never modified

	read      atomic.Int64  // seq after the last Refresh
	stopsRead chan struct{} // has a value while stopReads may not be empty

	mu        sync.RWMutex
	stopReads []StopRead
	cutoffs   map[RevocationKind]map[subject]cutoff
	blocked   map[subject]string
}

type subject struct{ service, id string }

type cutoff struct{ at, until time.Time }

// NewView returns an empty View. Fresh is false until the first Refresh. The View applies the signing keys that it reads to k.
func NewView(s ViewStore, k *keys.Keyring, now func() time.Time) *View {
	return &View{
		store: s, keys: k, now: now, refreshing: make(chan struct{}, 1), stopsRead: make(chan struct{}, 1),
		cutoffs: map[RevocationKind]map[subject]cutoff{}, blocked: map[subject]string{},
	}
}

// Run refreshes the View every PollEvery until ctx ends, and then returns nil. If the store has a method Changed() <-chan struct{}, Run
// also refreshes the View when that channel is closed. After each read of the store, Run calls read, which may be nil, with its error.
// Until a read succeeds, the View ages, as Fresh reports.
func (v *View) Run(ctx context.Context, read func(error)) error {
	ticker := time.NewTicker(PollEvery)
	defer ticker.Stop()
	changed := func() <-chan struct{} { return nil }
	if notifier, ok := v.store.(interface{ Changed() <-chan struct{} }); ok {
		changed = notifier.Changed
	}
	for {
		notified := changed()
		if err := v.poll(ctx); ctx.Err() == nil && read != nil {
			read(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			continue
		case <-notified:
		}
		select { // simultaneous changes are read together
		case <-ctx.Done():
			return nil
		case <-time.After(rereadAfter):
		}
	}
}

func (v *View) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	return v.Refresh(ctx)
}

// Refresh applies everything that was committed before it was called, including the writes of this process. If a signing key is unreadable,
// Refresh returns an error, but the View is fresh nevertheless.
func (v *View) Refresh(ctx context.Context) error {
	before := v.started.Load()
	select {
	case v.refreshing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-v.refreshing }()
	if v.succeeded.Load() > before { // another Refresh started after this call and succeeded
		return nil
	}
	number := v.started.Add(1)
	readAt := v.now()
	changes, seq, err := v.store.Changes(ctx, v.seq)
	if err != nil {
		return fmt.Errorf("reading the changes: %w", err)
	}
	unreadable := v.apply(changes)
	v.noteStops(changes)
	v.seq = seq // lower than before if the database was restored
	v.read.Store(seq)
	if readAt.Sub(v.swept) >= sweepEvery {
		v.sweep(readAt)
		v.swept = readAt
	}
	v.asOf.Store(&readAt)
	v.succeeded.Store(number)
	return unreadable
}

// apply applies all changes in commit order, even if one is unreadable: an unreadable signing key verifies nothing, which is safe. It
// returns an error for the unreadable changes.
func (v *View) apply(changes []Change) error {
	var errs []error
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range changes {
		switch {
		case c.Revocation != nil:
			v.recordEnd(*c.Revocation)
		case c.Agent != nil:
			v.agents.Add(1)
			s := subject{c.Agent.Service, string(c.Agent.ID)}
			if c.Agent.Status == AgentActive {
				delete(v.blocked, s)
			} else {
				v.blocked[s] = c.Agent.Reason
			}
		case c.Stop != nil:
			v.stop(*c.Stop)
		case c.Key != nil:
			errs = append(errs, v.keys.Apply(*c.Key))
		}
	}
	return errors.Join(errs...)
}

// noteStops records that the View has applied changes of Stops.
func (v *View) noteStops(changes []Change) {
	if v.succeeded.Load() == 0 {
		return
	}
	now := v.now()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range changes {
		if c.Stop != nil && len(v.stopReads) < maxStopReads {
			v.stopReads = append(v.stopReads, StopRead{c.Seq, now})
		}
	}
	if len(v.stopReads) > 0 {
		select {
		case v.stopsRead <- struct{}{}:
		default:
		}
	}
}

// recordEnd records a revocation. If the subject is already revoked, the stricter bounds apply: a later At ends more PATs, but for a
// renewed token the earlier At counts.
func (v *View) recordEnd(r Revocation) {
	of := v.cutoffs[r.Kind]
	if of == nil {
		of = map[subject]cutoff{}
		v.cutoffs[r.Kind] = of
	}
	s, e := subject{r.Service, r.Subject}, cutoff{r.At, r.Until}
	if earlier, ok := of[s]; ok {
		if earlier.at.After(e.at) != (r.Kind == RevokedRenewed) {
			e.at = earlier.at
		}
		if earlier.until.After(e.until) {
			e.until = earlier.until
		}
	}
	of[s] = e
}

// applyOwn applies a revocation that this process has just written, before the next Refresh reads it.
func (v *View) applyOwn(r Revocation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.recordEnd(r)
}

func (v *View) sweep(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, of := range v.cutoffs {
		maps.DeleteFunc(of, func(_ subject, e cutoff) bool { return now.After(e.until) })
	}
}

// Fresh reports whether the View is at most MaxAge old. If it is not, or if the clock was set back since the last Refresh, no PAT may be
// accepted.
func (v *View) Fresh(now time.Time) bool {
	asOf := v.asOf.Load()
	return asOf != nil && now.Sub(*asOf).Abs() <= MaxAge
}

// AgentChanges returns a number that grows with every change of an agent that the View applies. Agents that were read while the number was
// lower may be outdated.
func (v *View) AgentChanges() uint64 { return v.agents.Load() }

// check returns a *BlockedError or ErrRevoked if the PAT has ended by now. A renewal ends it too, unless the PAT is sent for another
// renewal: the store decides whether that is still permitted.
func (v *View) check(service string, c *Claims, now time.Time, renewal bool) error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, id := range [...]string{string(c.Subject), string(c.Principal())} {
		if _, blocked := v.blocked[subject{service, id}]; blocked {
			return &BlockedError{c.Subject, c.ID}
		}
	}
	for _, id := range [...]TokenID{c.ID, c.Family} {
		if _, ok := v.cutoffs[RevokedToken][subject{service, string(id)}]; ok {
			return ErrRevoked
		}
	}
	if _, ok := v.cutoffs[RevokedAgreement][subject{service, string(c.Agreement)}]; ok {
		return ErrRevoked
	}
	if e, ok := v.cutoffs[RevokedRenewed][subject{service, string(c.ID)}]; ok && !renewal && !now.Before(e.at) {
		return ErrRevoked
	}
	if last := v.endedUpTo(service, c); !last.Before(c.IssuedAt) {
		return ErrRevoked
	}
	if present, advance := v.plansEndedUpTo(service, c); !present.Before(c.NotBefore) || !advance.Before(c.IssuedAt) {
		return ErrRevoked
	}
	return nil
}

// plansEndedUpTo returns two times that changes of the plan in the claims have set. present ends the PATs with this plan whose nbf is not
// after present. advance ends those that have the nbf of the claims, and were issued up to advance. Either is the zero Time if there was no
// such change. The caller must hold mu.
func (v *View) plansEndedUpTo(service string, c *Claims) (present, advance time.Time) {
	plan := c.Declared.Plan()
	if plan == "" {
		return present, advance
	}
	ends, record := v.cutoffs[RevokedPlan], c.Principal().Record()
	present = ends[subject{service, PlanSubject(record, plan, time.Time{})}].at
	advance = ends[subject{service, PlanSubject(record, plan, c.NotBefore)}].at
	return present, advance
}

// endedUpTo returns the latest time up to which a revocation of the agent, the principal or the policy ends PATs, or the zero Time if there
// is none. The caller must hold mu.
func (v *View) endedUpTo(service string, c *Claims) time.Time {
	at := v.cutoffs[RevokedAgent][subject{service, string(c.Subject)}].at
	for _, other := range [...]cutoff{
		v.cutoffs[RevokedAgent][subject{service, string(c.Principal())}], v.cutoffs[RevokedPolicy][subject{service, c.PolicyDigest}],
	} {
		if other.at.After(at) {
			at = other.at
		}
	}
	return at
}

// firstIssue returns the earliest time at which a PAT with these claims can be issued so that no earlier revocation ends it. The times of
// PATs are whole seconds.
func (v *View) firstIssue(service string, c *Claims, now time.Time) time.Time {
	v.mu.RLock()
	defer v.mu.RUnlock()
	first := now.Truncate(time.Second)
	present, advance := v.plansEndedUpTo(service, c)
	for _, at := range [...]time.Time{v.endedUpTo(service, c), present, advance} {
		if !at.Before(first) {
			first = at.Truncate(time.Second).Add(time.Second)
		}
	}
	return first
}
