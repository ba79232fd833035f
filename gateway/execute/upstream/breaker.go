package upstream

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/cache"
)

// A breaker stops the calls to one intent for a while if they fail too often: after settings.Failures consecutive failures of at least two
// agents. The failures of one agent count for at most half of that number, rounded up. If only the calls of one agent fail, only the calls
// of that agent are stopped.
type breaker struct {
	settings config.Breaker
	now      func() time.Time

	mu     sync.Mutex
	all    *circuit
	failed map[string]int // failures of each agent since the state of the circuit all last changed, and since the last success of any agent
	own    *ownCircuits
	intent string

	changes int // how often the state of the circuit all has changed
}

// ownCircuits are the circuits of individual agents, by intent and agent.
type ownCircuits = cache.Cache[[2]string, *circuit]

// maxOwnCircuits is the maximum number of pairs of agent and intent whose failures are counted for one service. The least recently used are
// evicted first.
const maxOwnCircuits = 10_000

func newOwnCircuits() *ownCircuits {
	return cache.New(cache.Options[[2]string, *circuit]{Max: maxOwnCircuits})
}

func newBreaker(intent string, own *ownCircuits, settings config.Breaker, now func() time.Time) *breaker {
	b := &breaker{settings: settings, now: now, failed: map[string]int{}, own: own, intent: intent}
	b.all = newCircuit(settings, now, b.severalFail, func() {
		clear(b.failed)
		b.changes++
	})
	return b
}

// severalFail reports whether there are enough failures, from at least two agents, to open the circuit of all agents.
func (b *breaker) severalFail(gobreaker.Counts) bool {
	total, most := 0, (b.settings.Failures+1)/2
	for _, n := range b.failed {
		total += min(n, most)
	}
	return len(b.failed) > 1 && total >= b.settings.Failures
}

// ready returns a *BreakerOpenError if the breaker currently refuses the calls of an agent.
func (b *breaker) ready(agent string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if own, ok := b.own.Get([2]string{b.intent, agent}); ok && own.refuses() {
		return own.refused()
	}
	if b.all.refuses() {
		return b.all.refused()
	}
	return nil
}

// allow admits a call of an agent, or returns a *BreakerOpenError. The caller must report the end of an admitted call with ended.
func (b *breaker) allow(agent string) (admittedCall, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := admittedCall{breaker: b, agent: agent, changes: b.changes}
	own, known := b.own.Get([2]string{b.intent, agent})
	var err error
	if known {
		if a.tellOwn, err = own.Allow(); err != nil {
			return admittedCall{}, own.refused()
		}
	}
	if b.all.State() == gobreaker.StateClosed {
		return a, nil
	}
	if a.tellAll, err = b.all.Allow(); err != nil {
		if known {
			a.tellOwn(errNotCalled)
		}
		return admittedCall{}, b.all.refused()
	}
	return a, nil
}

// An admittedCall is a call that a breaker has admitted.
type admittedCall struct {
	breaker *breaker
	agent   string
	tellOwn func(error) // reports to the agent's own circuit; nil if there was none when the call began
	// tellAll reports to the circuit of all agents. It is nil if that circuit was closed when the call began; then only a failure affects the
	// circuit, and only if breaker.changes still equals changes.
	tellAll func(error)
	changes int
}

// ended reports the end of the call to the breaker. It must be called once.
func (a admittedCall) ended(err error) {
	a.breaker.mu.Lock()
	defer a.breaker.mu.Unlock()
	if a.tellOwn != nil {
		a.tellOwn(err)
	}
	a.breaker.record(&a, err)
}

// record records the end of a call. If the agent's own circuit existed when the call began, that circuit has already recorded the end.
func (b *breaker) record(a *admittedCall, err error) {
	key, fails := [2]string{b.intent, a.agent}, isFailure(err)
	switch {
	case isExcluded(err):
	case !fails:
		clear(b.failed)
		if own, ok := b.own.Get(key); ok && own.State() == gobreaker.StateClosed {
			b.own.Remove(key)
		}
	default:
		b.failed[a.agent]++
	}
	if fails && a.tellOwn == nil {
		own := b.own.GetOrMake(key, func() *circuit {
			return newCircuit(b.settings, b.now, inARow(b.settings.Failures), func() {})
		})
		if tellOwn, refused := own.Allow(); refused == nil {
			tellOwn(err)
		}
	}
	if fails && len(b.failed) < 2 && b.all.State() == gobreaker.StateHalfOpen { // the next probe may be a call of another agent
		err = errNotCalled
	}
	switch {
	case a.tellAll != nil:
		a.tellAll(err)
	case fails && a.changes == b.changes: // the circuit is still closed
		if tellAll, refused := b.all.Allow(); refused == nil {
			tellAll(err)
		}
	}
}

// state returns the state of the circuit of all agents.
func (b *breaker) state() gobreaker.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.State()
}

// A circuit opens after failures, and closes after a successful probe. Its callbacks run during calls to its methods.
type circuit struct {
	*gobreaker.TwoStepCircuitBreaker[struct{}]

	openFor time.Duration
	now     func() time.Time
	opened  time.Time // time when the circuit last opened
}

func inARow(failures int) func(gobreaker.Counts) bool {
	return func(c gobreaker.Counts) bool { return int64(c.ConsecutiveFailures) >= int64(failures) }
}

func newCircuit(b config.Breaker, now func() time.Time, opens func(gobreaker.Counts) bool, changed func()) *circuit {
	c := &circuit{openFor: b.OpenFor, now: now}
	c.TwoStepCircuitBreaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1, Timeout: b.OpenFor, ReadyToTrip: opens,
		IsSuccessful: func(err error) bool { return !isFailure(err) },
		IsExcluded:   isExcluded,
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				c.opened = now()
			}
			changed()
		},
	})
	return c
}

// refuses reports whether Allow would refuse.
func (c *circuit) refuses() bool {
	switch c.State() {
	case gobreaker.StateOpen:
		return true
	case gobreaker.StateHalfOpen:
		counts := c.Counts()
		return counts.Requests > counts.TotalExclusions // the probe is in progress
	case gobreaker.StateClosed:
	}
	return false
}

func (c *circuit) refused() error {
	left := c.opened.Add(c.openFor).Sub(c.now())
	// Until the probe ends, the time to wait is never zero.
	return &BreakerOpenError{RetryAfter: min(max(left, time.Second), c.openFor+time.Second)}
}

// errNotCalled is the result of a call that shows nothing about the health of the service.
var errNotCalled = errors.New("the service was not called, or it failed for one agent only")

// isFailure reports whether an error counts as a failure of the service.
func isFailure(err error) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Status >= http.StatusInternalServerError
	}
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrTimeout) || errors.Is(err, ErrBroken)
}

// isExcluded reports whether an error shows nothing about the health of the service, for example because the service was not called.
func isExcluded(err error) bool {
	return errors.Is(err, ErrGrantEnded) || errors.Is(err, ErrIdentity) || errors.Is(err, context.Canceled) || errors.Is(err, errNotCalled)
}

// Breakers returns the states of the open and half-open breakers of approved and of unapproved agents, by intent. heldBack is the number of
// circuits of individual agents that are not closed. Each circuit is for one agent and one intent.
func (u *Upstream) Breakers() (approved, unapproved map[string]string, heldBack int) {
	u.routing.Lock()
	defer u.routing.Unlock()
	approved, unapproved = map[string]string{}, map[string]string{}
	note := func(of map[string]string, intent string, b *breaker) {
		if state := b.state(); state != gobreaker.StateClosed {
			of[intent] = state.String()
		}
	}
	for _, r := range u.routes {
		note(approved, r.intent, r.breaker)
		note(unapproved, r.intent, r.unapproved)
	}
	for own := range u.failing.Values() {
		if own.State() != gobreaker.StateClosed {
			heldBack++
		}
	}
	return approved, unapproved, heldBack
}
