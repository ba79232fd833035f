package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/lease"
)

func testHolders(t *testing.T, open Opener) {
	t.Helper()
	for seed := range uint64(holderSeeds) {
		t.Run(fmt.Sprintf("no window holds more than its limit/%d", seed), func(t *testing.T) {
			t.Parallel()
			m := newFleet(newSuite(t, open), rand.New(rand.NewPCG(seed, 3)), rate("s", 100, limit.Second), rate("m", 400, limit.Minute))
			m.longestStop = 12 * limit.Second.SlotLength()
			m.run(windowRounds, 40*time.Millisecond)
			m.judge()
		})
		t.Run(fmt.Sprintf("nothing is lost but what a crash left/%d", seed), func(t *testing.T) {
			t.Parallel()
			m := newFleet(newSuite(t, open), rand.New(rand.NewPCG(seed, 4)), rate("d", 100_000, limit.Day), rate("w", 900, limit.Week))
			m.longestStop = 30 * time.Second
			m.run(lossRounds, 10*time.Second)
			m.balance()
		})
	}
}

// A skewedClock is the clock of one holder: the wall clock of its machine is wrong and is set at times, and its
// monotonic clock stands still while the machine sleeps. Otherwise both move with the true time.
type skewedClock struct {
	truth         *Clock
	began         time.Time
	mu            sync.Mutex
	offset, slept time.Duration
}

func (c *skewedClock) wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.truth.Now().Add(c.offset)
}

func (c *skewedClock) elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.truth.Now().Sub(c.began) - c.slept
}

func (c *skewedClock) set(wrong time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = wrong
}

// A member is one holder, and the units that it has leased and neither returned nor used.
type member struct {
	Engine
	*lease.Holder
	clock *skewedClock
	fleet *fleet
	held  map[string]int64
}

// Lease may be slow before and after the store executes it, as if the process was stopped.
func (m *member) Lease(ctx context.Context, r store.LeaseRequest) ([]store.Lease, error) {
	m.fleet.delay()
	got, err := m.Engine.Lease(ctx, r)
	m.fleet.delay()
	for _, back := range r.Returns {
		m.held[back.LimitID] -= back.Units
	}
	for _, l := range got {
		m.held[l.ID] += l.Units
	}
	return got, err
}

// Begin calls Begin of the engine and counts the units that the member holds.
func (m *member) Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error) {
	m.fleet.delay()
	admission, err := m.Engine.Begin(ctx, r)
	for _, t := range admission.Taken {
		m.held[t.LimitID]++ // like a lease of one unit, used at once
	}
	return admission, err
}

// Settle calls Settle of the engine and counts the units that the member returns.
func (m *member) Settle(ctx context.Context, b store.Admission, to store.Settlement) (store.Execution, error) {
	e, err := m.Engine.Settle(ctx, b, to)
	if to.Outcome == store.NotSent {
		for _, t := range b.Taken {
			m.held[t.LimitID]--
		}
	}
	return e, err
}

// A dispatch is a call that was admitted and waits to be sent.
type dispatch struct {
	by        *member
	admission store.Admission
	requested time.Time // wall clock of the member
	elapsed   time.Duration
}

// A fleet is several holders on one state, each with its own clock. It makes one step at a time.
type fleet struct {
	*suite
	rng         *rand.Rand
	limits      []store.Reservation
	engines     []Engine
	members     []*member
	waiting     []dispatch
	longestStop time.Duration // the longest time of a stop or a sleep

	admitted, sent map[string][]time.Time // by limit, in the order of true time
	refunded, lost map[string]int64
	refusals       int
}

func newFleet(b *suite, rng *rand.Rand, limits ...store.Reservation) *fleet {
	b.Helper()
	f := &fleet{
		suite: b, rng: rng, limits: limits, admitted: map[string][]time.Time{}, sent: map[string][]time.Time{},
		refunded: map[string]int64{}, lost: map[string]int64{},
	}
	other := b.open(b.T, b.place, b.clock.Now)
	b.Cleanup(func() { b.must(other.Close()) })
	f.engines = []Engine{b.Engine, other}
	for i := range 3 {
		f.members = append(f.members, f.join(f.engines[i%2]))
	}
	return f
}

func (f *fleet) join(e Engine) *member {
	m := &member{Engine: e, fleet: f, clock: &skewedClock{truth: f.clock, began: f.clock.Now()}, held: map[string]int64{}}
	m.clock.set(time.Duration(f.rng.Int64N(int64(time.Hour))) - 30*time.Minute)
	m.Holder = lease.New(m, lease.Options{Now: m.clock.wall, Elapsed: m.clock.elapsed})
	return m
}

func (f *fleet) delay() {
	switch f.rng.IntN(40) {
	case 0:
		f.clock.Advance(time.Duration(f.rng.Int64N(int64(f.longestStop))))
	case 1, 2, 3:
		f.clock.Advance(time.Duration(f.rng.Int64N(int64(f.longestStop / 12))))
	default:
	}
}

// run makes a number of steps, each within pace.
func (f *fleet) run(steps int, pace time.Duration) {
	f.Helper()
	for range steps {
		f.clock.Advance(time.Duration(f.rng.Int64N(int64(pace))))
		i := f.rng.IntN(len(f.members))
		m := f.members[i]
		switch f.rng.IntN(60) {
		case 0: // killed
			for id, n := range m.held {
				f.lost[id] += n
			}
			f.waiting = slices.DeleteFunc(f.waiting, func(s dispatch) bool { return s.by == m })
			f.members[i] = f.join(m.Engine)
		case 1: // shut down
			f.drain(m)
			f.must(m.Holder.Close())
			f.members[i] = f.join(m.Engine)
		case 2: // the wall clock is set
			m.clock.set(time.Duration(f.rng.Int64N(int64(4*time.Hour))) - 2*time.Hour)
		case 3: // the machine sleeps: its monotonic clock stands still
			d := time.Duration(f.rng.Int64N(int64(f.longestStop)))
			m.clock.mu.Lock()
			m.clock.slept += d
			m.clock.mu.Unlock()
			f.clock.Advance(d)
		case 4, 5, 6:
			f.must(m.Tidy(f.Context()))
		case 7, 8: // a call with a record uses the same limits
			f.call(m, true)
		default:
			for range 1 + f.rng.IntN(12) {
				f.call(m, false)
			}
		}
		f.dispatch()
	}
	for _, m := range f.members {
		f.drain(m)
		f.must(m.Holder.Close())
	}
}

func (f *fleet) call(m *member, recorded bool) {
	f.Helper()
	r := f.free(f.limits[f.rng.IntN(len(f.limits))])
	if f.rng.IntN(2) == 0 {
		r = f.free(f.limits...)
	}
	if recorded {
		r.Execution.IdempotencyKey = r.Execution.ID
	}
	s := dispatch{by: m, requested: m.clock.wall(), elapsed: m.clock.elapsed()}
	var err error
	if s.admission, err = m.Holder.Begin(f.Context(), r); err != nil {
		if _, full := errors.AsType[*store.LimitError](err); !full {
			f.Fatal(err)
		}
		f.refusals++
		return
	}
	for i, t := range s.admission.Taken {
		m.held[t.LimitID]--
		f.admitted[t.LimitID] = append(f.admitted[t.LimitID], f.clock.Now())
		if s.admission.Standing[i].Left < 0 {
			f.Fatalf("got %+v, want [i].Left at least 0", s.admission.Standing)
		}
	}
	f.waiting = append(f.waiting, s)
}

// dispatch ends some of the waiting calls. The others wait longer, and may then be too late to be sent.
func (f *fleet) dispatch() {
	f.Helper()
	f.waiting = slices.DeleteFunc(f.waiting, func(s dispatch) bool {
		if f.rng.IntN(3) == 0 {
			return false
		}
		f.end(s)
		return true
	})
}

func (f *fleet) drain(m *member) {
	f.Helper()
	f.waiting = slices.DeleteFunc(f.waiting, func(s dispatch) bool {
		if s.by == m {
			f.end(s)
		}
		return s.by == m
	})
}

// end sends a call if its grant is still valid. Some calls fail at random instead.
func (f *fleet) end(s dispatch) {
	f.Helper()
	c := s.by.clock
	alive := c.elapsed()-s.elapsed < s.admission.Expires && c.wall().Sub(s.requested) < s.admission.Expires
	to := store.Settlement{State: store.Captured, Outcome: store.Done}
	if !alive || f.rng.IntN(10) == 0 {
		to = store.Settlement{State: store.Released, Outcome: store.NotSent}
	}
	for _, t := range s.admission.Taken {
		if to.Outcome == store.Done {
			f.sent[t.LimitID] = append(f.sent[t.LimitID], f.clock.Now())
			continue
		}
		s.by.held[t.LimitID]++
		f.refunded[t.LimitID]++
	}
	if _, err := s.by.Holder.Settle(f.Context(), s.admission, to); err != nil {
		f.Fatal(err)
	}
}

// judge searches the log of the upstream for a window with more calls than the limit allows. A released admission frees its unit for other
// calls.
func (f *fleet) judge() {
	f.Helper()
	for _, l := range f.limits {
		sent := f.sent[l.ID]
		slices.SortFunc(sent, time.Time.Compare)
		length := time.Duration(l.Period.Seconds()) * time.Second
		fullest, first := 0, 0
		for last := range sent {
			for sent[last].Sub(sent[first]) >= length {
				first++
			}
			fullest = max(fullest, last-first+1)
		}
		if int64(fullest) > l.Max {
			f.Errorf("%s: %d calls were sent within one period", l.Rate, fullest)
		}
		if int64(fullest) < l.Max/2 {
			f.Errorf("%s: never more than %d calls: the model proves nothing", l.Rate, fullest)
		}
	}
	if f.refusals == 0 {
		f.Error("nothing was refused: the model proves nothing")
	}
}

// balance compares the store's count with the units of unreleased admissions and the units lost by crashes. No unit may have left the
// windows yet.
func (f *fleet) balance() {
	f.Helper()
	for _, l := range f.limits {
		if f.clock.Now().Sub(start) > time.Duration(l.Period.Seconds())*time.Second {
			f.Fatal("the model ran for too long")
		}
		used := int64(len(f.admitted[l.ID])) - f.refunded[l.ID]
		want := min(l.Max, used+f.lost[l.ID])
		got := l.Max
		if admission, err := f.Begin(f.Context(), f.free(l)); err == nil {
			got -= admission.Standing[0].Left + 1
		}
		untried := used == 0 || f.lost[l.ID] == 0 && used < l.Max // a limit that calls have used up loses nothing
		if got != want || untried {
			f.Errorf("%s: the store counts %d; %d were admitted and not released, %d lost", l.Rate, got, used, f.lost[l.ID])
		}
	}
}
