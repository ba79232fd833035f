package upstream_test

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/store"
)

func TestBreaker(t *testing.T) {
	var healthy atomic.Bool
	s := serve(t, func(_ int64, c net.Conn, _ *http.Request) bool {
		answer := "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"
		if healthy.Load() {
			answer = fine
		}
		_, _ = c.Write([]byte(answer))
		return true
	})
	cfg := settings(t, s.URL)
	cfg.Breaker = config.Breaker{Failures: 3, OpenFor: 30 * time.Millisecond}
	u := open(t, cfg)
	p := prepare(t, u, "POST")
	for range 3 {
		if err := p.Ready("", false); err != nil {
			t.Fatal(err)
		}
		if _, outcome, _ := u.Call(t.Context(), p, upstream.Identity{}, live); outcome != store.Failed {
			t.Fatalf("got %v, want %v", outcome, store.Failed)
		}
	}
	err := p.Ready("", false)
	if refused, ok := errors.AsType[*upstream.BreakerOpenError](err); !ok || refused.RetryAfter < time.Second {
		t.Fatalf("got %v, want a *BreakerOpenError with a time of a second or more", err)
	}
	_, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live)
	if _, ok := errors.AsType[*upstream.BreakerOpenError](err); outcome != store.NotSent || !ok || s.Requests.Load() != 3 {
		t.Errorf("%q, %v, %d requests", outcome, err, s.Requests.Load())
	}
	healthy.Store(true)
	for p.Ready("", false) != nil { // wait until OpenFor has passed
		if t.Context().Err() != nil {
			t.Fatal("the breaker never let a probe through")
		}
	}
	// If a probe was not sent, the next call can be the probe.
	if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{},
		granted("", func() error { return errGone })); outcome != store.NotSent || p.Ready("", false) != nil {
		t.Error(outcome, err, p.Ready("", false))
	}
	if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); outcome != store.Done {
		t.Error(outcome, err)
	}
	if states, _, heldBack := u.Breakers(); len(states) > 0 || heldBack > 0 {
		t.Errorf("got %v, %v; want none, at most 0", states, heldBack)
	}
}

func TestOnlyOneProbeAtATime(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(n int64, c net.Conn, _ *http.Request) bool {
		if n == 1 {
			_, _ = c.Write([]byte("HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"))
			return true
		}
		close(arrived)
		<-release
		_, _ = c.Write([]byte(fine))
		return true
	})
	cfg := settings(t, s.URL)
	cfg.Breaker = config.Breaker{Failures: 1, OpenFor: time.Millisecond}
	u := open(t, cfg)
	p := prepare(t, u, "POST")
	if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); outcome != store.Failed {
		t.Fatal(outcome, err)
	}
	for p.Ready("", false) != nil { // wait until OpenFor has passed
		if t.Context().Err() != nil {
			t.Fatal("the breaker never let a probe through")
		}
	}
	probe := make(chan store.Outcome, 1)
	go func() {
		_, outcome, _ := u.Call(t.Context(), p, upstream.Identity{}, live)
		probe <- outcome
	}()
	<-arrived
	if _, ok := errors.AsType[*upstream.BreakerOpenError](p.Ready("", false)); !ok {
		t.Error("ready for more while the probe is under way")
	}
	if _, outcome, _ := u.Call(t.Context(), p, upstream.Identity{}, live); outcome != store.NotSent {
		t.Errorf("got %v, want %v", outcome, store.NotSent)
	}
	close(release)
	if outcome := <-probe; outcome != store.Done || p.Ready("", false) != nil {
		t.Errorf("got %v, %v; want %v, nil", outcome, p.Ready("", false), store.Done)
	}
}

func TestRejectionsDoNotOpenTheBreaker(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 429 X\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 X\r\nContent-Length: 3\r\n\r\n<a>",
	} {
		s := serve(t, func(_ int64, c net.Conn, _ *http.Request) bool { _, _ = c.Write([]byte(answer)); return true })
		cfg := settings(t, s.URL)
		cfg.Breaker.Failures = 1
		u := open(t, cfg)
		p := prepare(t, u, "POST")
		for range 3 {
			_, _, _ = u.Call(t.Context(), p, upstream.Identity{}, live)
		}
		if err := p.Ready("", false); err != nil {
			t.Error(answer, err)
		}
	}
}

// failingService starts a service that responds with status 500 while broken is set, and always with 200 at /other.
func failingService(
	t *testing.T, failures int, openFor time.Duration,
) (u *upstream.Upstream, try, other *upstream.PreparedRequest, broken *atomic.Bool) {
	t.Helper()
	broken = new(atomic.Bool)
	broken.Store(true)
	s := serve(t, func(_ int64, c net.Conn, r *http.Request) bool {
		answer := fine
		if broken.Load() && r.URL.Path != "/other" {
			answer = "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"
		}
		_, _ = c.Write([]byte(answer))
		return true
	})
	cfg := settings(t, s.URL)
	cfg.Breaker = config.Breaker{Failures: failures, OpenFor: openFor}
	u = open(t, cfg)
	r, err := u.Route(upstream.Endpoint{IntentUID: "shop.example:other:v1", URL: "https://shop.example/other"})
	if err != nil {
		t.Fatal(err)
	}
	other, _ = r.Prepare(map[string]any{})
	return u, prepare(t, u, "POST"), other, broken
}

// calls makes n calls of an agent, and returns their outcomes.
func calls(t *testing.T, u *upstream.Upstream, p *upstream.PreparedRequest, agent string, n int) (outcomes []store.Outcome) {
	t.Helper()
	for range n {
		outcome := store.NotSent
		if p.Ready(agent, false) == nil {
			_, outcome, _ = u.Call(t.Context(), p, upstream.Identity{Principal: agent}, live)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

func same(outcomes []store.Outcome, want ...store.Outcome) bool { return slices.Equal(outcomes, want) }

func TestFailuresOfOneAgentStopOnlyItsCalls(t *testing.T) {
	u, p, other, broken := failingService(t, 4, time.Minute)
	if got := calls(t, u, p, "clumsy", 5); !same(got, store.Failed, store.Failed, store.Failed, store.Failed, store.NotSent) {
		t.Error(got)
	}
	if got := calls(t, u, other, "clumsy", 1); !same(got, store.Done) {
		t.Error("another intent: ", got)
	}
	if got := calls(t, u, p, "honest", 1); !same(got, store.Failed) { // one failure of another agent does not open it for all
		t.Error(got)
	}
	if states, _, heldBack := u.Breakers(); len(states) > 0 || heldBack != 1 {
		t.Errorf("got %v, %v; want none, 1", states, heldBack)
	}
	broken.Store(false)
	if got := append(calls(t, u, p, "honest", 1), calls(t, u, p, "clumsy", 1)...); !same(got, store.Done, store.NotSent) {
		t.Error(got)
	}
	open, ok := errors.AsType[*upstream.BreakerOpenError](p.Ready("clumsy", false))
	if !ok || open.RetryAfter < 50*time.Second || open.RetryAfter > time.Minute {
		t.Errorf("got %+v", open)
	}
}

func TestFailuresOfSeveralAgentsStopOneIntentForAll(t *testing.T) {
	u, p, other, _ := failingService(t, 5, time.Minute)
	calls(t, u, p, "a", 3)
	calls(t, u, p, "b", 1)
	if got := calls(t, u, p, "c", 1); !same(got, store.Failed) {
		t.Error(got)
	}
	if got := append(calls(t, u, p, "d", 1), calls(t, u, other, "d", 1)...); !same(got, store.NotSent, store.Done) {
		t.Error(got)
	}
	if states, _, heldBack := u.Breakers(); len(states) != 1 || states["shop.example:try:v1"] != "open" || heldBack != 0 {
		t.Error(states, heldBack)
	}
}

// An agent whose calls alone fail cannot stop an intent that works for others.
func TestFailedProbeLeavesNextToAnotherAgent(t *testing.T) {
	u, p, _, broken := failingService(t, 2, time.Millisecond)
	calls(t, u, p, "a", 1)
	calls(t, u, p, "b", 1)
	half := func() bool {
		states, _, _ := u.Breakers()
		return states["shop.example:try:v1"] == "half-open"
	}
	for !half() {
		if t.Context().Err() != nil {
			t.Fatal("the breaker never let a probe through")
		}
	}
	if got := calls(t, u, p, "a", 1); !same(got, store.Failed) || !half() {
		t.Error(got, half())
	}
	broken.Store(false)
	if got := calls(t, u, p, "b", 1); !same(got, store.Done) {
		t.Error(got)
	}
	if states, _, _ := u.Breakers(); len(states) != 0 {
		t.Errorf("got %v, want none", states)
	}
}

func TestNumberOfOwnCircuitsIsLimited(t *testing.T) {
	const most = upstream.MaxOwnCircuits
	open := upstream.Failures(most + 5000)
	if open > most || open < most/2 {
		t.Errorf("%d agents are remembered; want at most %d", open, most)
	}
}

// Anyone can create keys where admission is open, so failures of unapproved agents must not stop approved ones.
func TestUnapprovedFailuresStopNoApprovedAgent(t *testing.T) {
	s := serve(t, func(_ int64, c net.Conn, r *http.Request) bool {
		answer := fine
		if r.Header.Get("UIM-Agent-Standing") == "unapproved" {
			answer = "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"
		}
		_, _ = c.Write([]byte(answer))
		return true
	})
	cfg := settings(t, s.URL)
	cfg.Breaker = config.Breaker{Failures: 3, OpenFor: time.Hour}
	u := open(t, cfg)
	p := prepare(t, u, "POST")
	for i := range 20 {
		name := "stranger " + string(rune('a'+i))
		_, _, _ = u.Call(t.Context(), p, upstream.Identity{Principal: name, Unapproved: true, Standing: "unapproved"}, live)
	}
	if n := s.Requests.Load(); n != 3 || p.Ready("another stranger", true) == nil {
		t.Errorf("%d calls of unapproved agents; want 3", n)
	}
	_, outcome, err := u.Call(t.Context(), p, upstream.Identity{Principal: "known"}, live)
	if outcome != store.Done || p.Ready("known", false) != nil {
		t.Errorf("an approved agent: %v %v", outcome, err)
	}
	if approved, strangers, _ := u.Breakers(); len(approved) != 0 || strangers["shop.example:try:v1"] != "open" {
		t.Errorf("%v, of strangers %v", approved, strangers)
	}
}
