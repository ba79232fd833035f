package upstream_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/store"
)

var errGone = errors.New("the grant is gone")

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

func TestRetriesOnlyWhereSafe(t *testing.T) {
	broken := map[string]func(net.Conn){
		"closed":      func(net.Conn) {},
		"reset":       reset,
		"half a body": func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")) },
		"503": func(c net.Conn) {
			_, _ = c.Write([]byte("HTTP/1.1 503 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
		},
		"500": func(c net.Conn) {
			_, _ = c.Write([]byte("HTTP/1.1 500 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
		},
		"503 with Retry-After": func(c net.Conn) {
			_, _ = c.Write([]byte("HTTP/1.1 503 X\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
		},
	}
	for name, breakOff := range broken {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
			for _, key := range []string{"", "Idempotency-Key", "X-Request-Key"} {
				t.Run(strings.Join([]string{name, method, key}, " "), func(t *testing.T) {
					s := serve(t, func(n int64, c net.Conn, r *http.Request) bool {
						if key != "" && r.Header.Get(key) != "exec" {
							t.Errorf("%s: %q", key, r.Header.Get(key))
						}
						if n < 3 {
							breakOff(c)
							return false
						}
						answer := fine
						if r.Method == http.MethodHead {
							answer = strings.TrimSuffix(fine, "{}")
						}
						_, _ = c.Write([]byte(answer))
						return true
					})
					cfg := settings(t, s.URL)
					cfg.IdempotencyHeader = key
					u := open(t, cfg)
					_, outcome, err := u.Call(t.Context(), prepare(t, u, method), upstream.Identity{}, granted("exec", alive))
					wantRequests, wantOutcome := int64(3), store.Done
					safe := method == "GET" || method == "HEAD" || key != ""
					switch {
					case name == "half a body" && method == "HEAD": // complete: a HEAD has no body
						wantRequests = 1
					case name == "500" || name == "503 with Retry-After" || (name == "503" && !safe):
						wantRequests, wantOutcome = 1, store.Failed
					case !safe:
						wantRequests, wantOutcome = 1, store.Unknown
					}
					if n := s.Requests.Load(); n != wantRequests || outcome != wantOutcome {
						t.Errorf("%d requests, %q, %v; want %d, %q", n, outcome, err, wantRequests, wantOutcome)
					}
				})
			}
		}
	}
}

// A GET is retried when a pooled connection breaks, unless the operator marks the intent as unsafe.
func TestUnsafeGetIsNotRetried(t *testing.T) {
	s := serve(t, func(n int64, c net.Conn, _ *http.Request) bool {
		if n == 2 {
			return false // closes a connection that was used before
		}
		_, _ = c.Write([]byte(fine))
		return true
	})
	u := open(t, settings(t, s.URL))
	for _, unsafe := range []bool{true, false} {
		s.Requests.Store(0)
		r, err := u.Route(upstream.Endpoint{IntentUID: "shop.example:x:v1", URL: "https://shop.example/x", Method: "GET", Unsafe: unsafe})
		if err != nil {
			t.Fatal(err)
		}
		p, _ := r.Prepare(nil)
		if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil {
			t.Fatal(outcome, err)
		}
		_, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live)
		if n := s.Requests.Load(); unsafe && (outcome != store.Unknown || n != 2) || !unsafe && (err != nil || n != 3) {
			t.Errorf("unsafe %t: %q, %v, %d requests", unsafe, outcome, err, n)
		}
	}
}

// If a retry is rejected, the outcome of the first attempt is still unknown, unless the calls have no effects.
func TestRefusalAfterBrokenAttempt(t *testing.T) {
	for method, want := range map[string]store.Outcome{"POST": store.Unknown, "GET": store.Failed} {
		s := serve(t, func(n int64, c net.Conn, _ *http.Request) bool {
			if n > 1 {
				_, _ = c.Write([]byte("HTTP/1.1 409 X\r\nContent-Length: 0\r\n\r\n"))
			}
			return false
		})
		cfg := settings(t, s.URL)
		cfg.IdempotencyHeader = "Idempotency-Key"
		u := open(t, cfg)
		_, outcome, err := u.Call(t.Context(), prepare(t, u, method), upstream.Identity{}, granted("exec", alive))
		if outcome != want || errors.Is(err, upstream.ErrBroken) != (want == store.Unknown) || s.Requests.Load() != 2 {
			t.Errorf("%s: %q, %v, %d requests", method, outcome, err, s.Requests.Load())
		}
	}
}

// If a GET makes the service close the connection, it is not retried on every pooled connection.
func TestClosedPooledConnectionIsNotAnAttempt(t *testing.T) {
	const pooled = 8
	var together sync.WaitGroup
	together.Add(pooled)
	s := serve(t, func(n int64, c net.Conn, _ *http.Request) bool {
		if n > pooled {
			return false
		}
		together.Done()
		together.Wait() // each call gets its own connection
		_, _ = c.Write([]byte(fine))
		return true
	})
	u := open(t, settings(t, s.URL))
	p := prepare(t, u, "GET")
	var calls sync.WaitGroup
	for range pooled {
		calls.Go(func() {
			if _, _, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); outcome != store.Unknown {
		t.Error(outcome, err)
	}
	if n := s.Requests.Load() - pooled; n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

func TestAttemptsAreLimited(t *testing.T) {
	s := serve(t, func(_ int64, c net.Conn, _ *http.Request) bool { reset(c); return false })
	u := open(t, settings(t, s.URL))
	_, outcome, err := u.Call(t.Context(), prepare(t, u, "GET"), upstream.Identity{}, live)
	if outcome != store.Unknown || !errors.Is(err, upstream.ErrBroken) || s.Requests.Load() != 3 {
		t.Errorf("%q, %v, %d requests", outcome, err, s.Requests.Load())
	}
}

// If a service closes an idle connection, the next call still succeeds, even a POST.
func TestConnectionClosedBetweenCalls(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		hangUp := make(chan struct{})
		hungUp := make(chan struct{})
		s := serve(t, func(n int64, c net.Conn, _ *http.Request) bool {
			_, _ = c.Write([]byte(fine))
			if n == 1 {
				<-hangUp
				_ = c.Close()
				close(hungUp)
				return false
			}
			return true
		})
		u := open(t, settings(t, s.URL))
		p := prepare(t, u, method)
		if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil {
			t.Fatal(outcome, err)
		}
		close(hangUp)
		<-hungUp
		if _, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil {
			t.Errorf("%s: %q, %v", method, outcome, err)
		}
		if n := s.Requests.Load(); n != 2 {
			t.Errorf("%s: %d requests; want 2", method, n)
		}
	}
}

// Bytes after a response are never read as the response to another call.
func TestResponsesMatchTheirRequests(t *testing.T) {
	extra := map[string]string{
		"a body longer than its length": "x",
		"two answers":                   "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\"no\"",
		"an answer without a body":      "HTTP/1.1 204 No Content\r\n\r\n",
		"the start of another answer":   "HTTP/1.1 404 Not Found\r\nX-Rest: ",
		"a timeout notice":              "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n",
	}
	for name, extra := range extra {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ int64, c net.Conn, r *http.Request) bool {
				own := strconv.Quote(r.Header.Get("UIM-Agent-Id"))
				_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s%s", len(own), own, extra)
				return true
			})
			cfg := settings(t, s.URL)
			cfg.Pool.MaxConns = 2 // the connections are always in use
			cfg.Retry.Attempts = 10
			u := open(t, cfg)
			p := prepare(t, u, "POST")
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					for j := range 100 {
						id := fmt.Sprintf("a%d-%d", i, j)
						answer, outcome, err := u.Call(t.Context(), p, upstream.Identity{AgentID: id}, live)
						if outcome == store.Done && err == nil && string(answer.JSON) != strconv.Quote(id) {
							t.Errorf("%s got the response %s", id, answer.JSON)
						} else if outcome != store.Done && outcome != store.NotSent {
							t.Errorf("%s: %q, %v", id, outcome, err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestGrantIsCheckedBeforeEveryFirstByte(t *testing.T) {
	s := serve(t, func(n int64, c net.Conn, _ *http.Request) bool {
		if n%2 == 1 {
			return false // closes the connection
		}
		_, _ = c.Write([]byte(fine))
		return true
	})
	u := open(t, settings(t, s.URL))
	// The grant is checked twice for each attempt: before it, and before its first byte.
	for _, tt := range []struct {
		name     string
		lives    int64 // how many checks succeed
		requests int64
		want     store.Outcome
		err      error
	}{
		{"dead from the start", 0, 0, store.NotSent, errGone},
		{"ends while connecting", 1, 0, store.NotSent, errGone},
		{"ends before the retry", 2, 1, store.Unknown, upstream.ErrBroken},
		{"ends while connecting again", 3, 1, store.Unknown, upstream.ErrBroken},
		{"lives long enough", 4, 2, store.Done, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.Requests.Store(0)
			u.Close() // each attempt opens a connection
			var questions atomic.Int64
			alive := granted("", func() error {
				if questions.Add(1) > tt.lives {
					return errGone
				}
				return nil
			})
			_, outcome, err := u.Call(t.Context(), prepare(t, u, "GET"), upstream.Identity{}, alive)
			if outcome != tt.want || !errors.Is(err, tt.err) || s.Requests.Load() != tt.requests {
				t.Errorf("%q, %v, %d requests", outcome, err, s.Requests.Load())
			}
		})
	}
	if _, outcome, err := u.Call(t.Context(), prepare(t, u, "GET"), upstream.Identity{},
		grant.Grant{}); outcome != store.NotSent || !errors.Is(err, upstream.ErrGrantEnded) {
		t.Errorf("without a grant: %q, %v; want %v, %v", outcome, err, store.NotSent, upstream.ErrGrantEnded)
	}
}

// When the grant ends, the call does not try further pooled connections.
func TestGrantEndsOnPooledConnections(t *testing.T) {
	s := serve(t, func(_ int64, c net.Conn, _ *http.Request) bool { _, _ = c.Write([]byte(fine)); return true })
	u := open(t, settings(t, s.URL))
	p := prepare(t, u, "POST")
	if _, _, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil {
		t.Fatal(err)
	}
	var questions atomic.Int64
	_, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, granted("", func() error {
		if questions.Add(1) > 1 {
			return errGone
		}
		return nil
	}))
	if outcome != store.NotSent || !errors.Is(err, errGone) || !errors.Is(err, upstream.ErrGrantEnded) {
		t.Errorf("got %q, %v; want %v, %v and %v", outcome, err, store.NotSent, errGone, upstream.ErrGrantEnded)
	}
	if questions.Load() != 2 || s.Requests.Load() != 1 {
		t.Errorf("checked %d times, %d requests", questions.Load(), s.Requests.Load())
	}
}
