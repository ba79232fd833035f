package upstream_test

import (
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

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
	cfg := config(t, s.URL)
	cfg.Breaker = upstream.Breaker{Failures: 3, OpenFor: 30 * time.Millisecond}
	u := open(t, cfg)
	p := prepare(t, u, "POST")
	for range 3 {
		if err := u.Ready(); err != nil {
			t.Fatal(err)
		}
		if _, outcome, _ := u.Call(t.Context(), p, upstream.Identity{}, live); outcome != store.Failed {
			t.Fatal(outcome)
		}
	}
	err := u.Ready()
	if refused, ok := errors.AsType[*upstream.BreakerOpenError](err); !ok || refused.RetryAfter < time.Second {
		t.Fatalf("got %v, want a *BreakerOpenError with a time of a second or more", err)
	}
	_, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live)
	if _, ok := errors.AsType[*upstream.BreakerOpenError](err); outcome != store.NotSent || !ok || s.Requests.Load() != 3 {
		t.Errorf("%q, %v, %d requests", outcome, err, s.Requests.Load())
	}
	healthy.Store(true)
	for u.Ready() != nil { // until OpenFor is over
		if t.Context().Err() != nil {
			t.Fatal("the breaker never let a probe through")
		}
	}
	// A probe that was never sent proves nothing, and leaves the place to the next.
	if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{},
		granted("", func() error { return errGone })); outcome != store.NotSent || u.Ready() != nil {
		t.Error(outcome, err, u.Ready())
	}
	if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); outcome != store.Done {
		t.Error(outcome, err)
	}
	if u.BreakerState() != "closed" {
		t.Error(u.BreakerState())
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
	cfg := config(t, s.URL)
	cfg.Breaker = upstream.Breaker{Failures: 1, OpenFor: time.Millisecond}
	u := open(t, cfg)
	p := prepare(t, u, "POST")
	if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); outcome != store.Failed {
		t.Fatal(outcome, err)
	}
	for u.Ready() != nil { // until OpenFor is over
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
	if _, ok := errors.AsType[*upstream.BreakerOpenError](u.Ready()); !ok {
		t.Error("ready for more while the probe is under way")
	}
	if _, outcome, _ := u.Call(t.Context(), p, upstream.Identity{}, live); outcome != store.NotSent {
		t.Error(outcome)
	}
	close(release)
	if outcome := <-probe; outcome != store.Done || u.Ready() != nil {
		t.Error(outcome, u.Ready())
	}
}

func TestRejectionsDoNotOpenTheBreaker(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 429 X\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 X\r\nContent-Length: 3\r\n\r\n<a>",
	} {
		s := serve(t, func(_ int64, c net.Conn, _ *http.Request) bool { _, _ = c.Write([]byte(answer)); return true })
		cfg := config(t, s.URL)
		cfg.Breaker.Failures = 1
		u := open(t, cfg)
		for range 3 {
			_, _, _ = u.Call(t.Context(), prepare(t, u, "POST"), upstream.Identity{}, live)
		}
		if err := u.Ready(); err != nil {
			t.Error(answer, err)
		}
	}
}
