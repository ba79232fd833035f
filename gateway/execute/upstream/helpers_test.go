package upstream_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/internal/fairqueue"
)

// live is a grant that never ends.
var live = granted("", alive)

func alive() error { return nil }

// granted returns a grant that permits any number of further attempts while alive returns nil.
func granted(id string, alive func() error) grant.Grant { return grant.New(id, terms{id, alive}) }

type terms struct {
	id    string
	alive func() error
}

func (t terms) Alive() error                                 { return t.alive() }
func (t terms) Another(context.Context) (grant.Grant, error) { return granted(t.id, t.alive), nil }
func (terms) Unused(context.Context)                         {}

func mustURL(tb testing.TB, s string) *url.URL {
	tb.Helper()
	u, err := url.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

func settings(tb testing.TB, address string) upstream.Config {
	tb.Helper()
	return upstream.Config{
		URL: mustURL(tb, address), Timeout: 10 * time.Second, MaxResponse: 1 << 20,
		AllowedHosts: []string{"api.shop.example:443"},
		Breaker:      config.Breaker{Failures: 1000, OpenFor: time.Minute},
		Retry:        upstream.Retry{Attempts: 3, Wait: time.Microsecond, MaxWait: time.Microsecond},
		Places:       fairqueue.Bounds{Places: 1024, Waiting: 1024, Wait: time.Second},
		Pool:         upstream.Pool{MaxConns: 1024, MaxIdle: 256, IdleTimeout: time.Minute, DialTimeout: 5 * time.Second},
		Now:          time.Now,
	}
}

func open(tb testing.TB, cfg upstream.Config) *upstream.Upstream {
	tb.Helper()
	u, err := upstream.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(u.Close)
	return u
}

// prepare returns a request without parameters.
func prepare(tb testing.TB, u *upstream.Upstream, method string) *upstream.PreparedRequest {
	tb.Helper()
	r, err := u.Route(upstream.Endpoint{IntentUID: "shop.example:try:v1", URL: "https://shop.example/try", Method: method})
	if err != nil {
		tb.Fatal(err)
	}
	p, violations := r.Prepare(map[string]any{})
	if violations != nil {
		tb.Fatalf("got %v, want nil", violations)
	}
	return p
}

// A service is a TCP server. The test writes its responses byte by byte.
type service struct {
	URL      string
	Requests atomic.Int64 // requests that were read completely
	Conns    atomic.Int64
	stop     func() // closes the listener but not the connections
}

// serve starts a service that calls respond for its nth request, counted from 1. The connection is closed when respond returns false.
func serve(tb testing.TB, respond func(n int64, c net.Conn, r *http.Request) bool) *service {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &service{URL: "http://" + ln.Addr().String(), stop: func() { _ = ln.Close() }}
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	closing := false
	tb.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		closing = true
		for c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					tb.Errorf("got %v, want %v", err, net.ErrClosed)
				}
				return
			}
			s.Conns.Add(1)
			mu.Lock()
			open[c] = true
			if closing {
				_ = c.Close()
			}
			mu.Unlock()
			wg.Go(func() {
				defer func() { _ = c.Close() }()
				in := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					var body strings.Builder
					if _, err := bufio.NewReader(r.Body).WriteTo(&body); err != nil {
						return
					}
					if !respond(s.Requests.Add(1), c, r) {
						return
					}
				}
			})
		}
	})
	return s
}

// raw starts a service that always sends the same bytes and closes the connection.
func raw(tb testing.TB, answer string) *service {
	tb.Helper()
	return serve(tb, func(_ int64, c net.Conn, _ *http.Request) bool {
		_, _ = c.Write([]byte(answer))
		return false
	})
}

// reset ends a connection with RST.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// closedPort returns the address of a closed port.
func closedPort(tb testing.TB) string {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return "http://" + ln.Addr().String()
}

// headers returns headers with the given names and values.
func headers(pairs ...string) map[string]config.Secret {
	out := map[string]config.Secret{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = config.NewSecret(pairs[i+1])
	}
	return out
}
