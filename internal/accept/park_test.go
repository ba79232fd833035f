//go:build unix

package accept_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/accept"
)

// A hall is a server whose connections are parked as soon as nothing comes.
type hall struct {
	t       *testing.T
	l       *accept.Listener
	server  *http.Server
	address string
	shed    atomic.Int64
	failed  atomic.Int64      // errors that the server was given while the listener was open
	open    map[net.Conn]bool // as net/http sees it
	mu      sync.Mutex
}

const (
	soon  = time.Millisecond
	later = time.Minute // longer than any test
)

// newHall serves what prepare leaves of it: /keep keeps the connection, /hijack takes it and echoes; all else answers with the body.
func newHall(t *testing.T, prepare func(*accept.Bounds, *http.Server)) *hall {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newHallAt(t, ln, prepare)
}

func newHallAt(t *testing.T, ln net.Listener, prepare func(*accept.Bounds, *http.Server)) *hall {
	t.Helper()
	h := &hall{t: t, open: map[net.Conn]bool{}}
	b := accept.Bounds{
		All: 10_000, PerAddress: 10_000, Exempt: func(netip.Addr) bool { return false }, Shed: func(accept.Cause) { h.shed.Add(1) },
		Park: soon,
	}
	h.server = &http.Server{
		Handler: http.HandlerFunc(answer), ReadHeaderTimeout: later, IdleTimeout: later, ConnContext: accept.Context,
		ConnState: func(c net.Conn, state http.ConnState) {
			accept.State(c, state)
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.open[c] = true; state == http.StateClosed || state == http.StateHijacked {
				delete(h.open, c)
			}
		},
	}
	if prepare != nil {
		prepare(&b, h.server)
	}
	h.l, h.address = accept.New(ln, b), ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(watched{h.l, &h.failed}) }()
	t.Cleanup(func() {
		if err := h.server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return h
}

// A watched listener counts the errors of Accept.
type watched struct {
	net.Listener
	failed *atomic.Int64
}

func (w watched) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		w.failed.Add(1)
	}
	return c, err
}

func answer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		if r.Method != http.MethodGet && r.Method != http.MethodPost { // such as OST
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	case "/keep":
		accept.Of(r.Context()).Keep()
	case "/kept":
		_, _ = fmt.Fprint(w, accept.Of(r.Context()).Kept())
	case "/hijack":
		c, buffered, err := http.NewResponseController(w).Hijack()
		if err == nil {
			defer c.Close()
			_, _ = io.Copy(c, buffered)
		}
		return
	}
	_, _ = io.Copy(w, r.Body)
}

// A visitor is the other end of a connection.
type visitor struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func (h *hall) visit() *visitor {
	h.t.Helper()
	c, err := net.Dial("tcp", h.address)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close() })
	return &visitor{c, h.t, bufio.NewReader(c)}
}

func (v *visitor) send(text string) {
	v.t.Helper()
	if _, err := io.WriteString(v, text); err != nil {
		v.t.Fatal(err)
	}
}

func (v *visitor) receive() string {
	v.t.Helper()
	got, err := http.ReadResponse(v.r, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	body, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != http.StatusOK {
		v.t.Fatal(got.Status, err)
	}
	return string(body)
}

// ended waits for the end of the connection.
func (v *visitor) ended() {
	v.t.Helper()
	if rest, err := io.ReadAll(v.r); len(rest) > 0 || (err != nil && !strings.Contains(err.Error(), "reset")) {
		v.t.Errorf("%q, %v, want the end", rest, err)
	}
}

func post(body string) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }

// until waits until it is so.
func (h *hall) until(what string, so func() bool) {
	h.t.Helper()
	for began := time.Now(); !so(); runtime.Gosched() {
		if time.Since(began) > 10*time.Second {
			h.t.Fatal("not in ten seconds: " + what)
		}
	}
}

// parked waits until so many are parked, and none is served.
func (h *hall) parked(n int) {
	h.t.Helper()
	h.until(fmt.Sprint(n, " parked"), func() bool {
		now, _ := h.l.Parked()
		h.mu.Lock()
		defer h.mu.Unlock()
		return now == n && len(h.open) == 0
	})
}

func TestRequestsOnParkedConnections(t *testing.T) {
	for name, converse := range map[string]func(h *hall, v *visitor){
		"one after another": func(h *hall, v *visitor) {
			for i := range 20 {
				want := fmt.Sprint("body ", i)
				v.send(post(want))
				if got := v.receive(); got != want {
					h.t.Errorf("%q, want %q", got, want)
				}
				h.parked(1)
			}
			if _, ever := h.l.Parked(); ever < 20 {
				h.t.Errorf("parked %d times, want 20", ever)
			}
		},
		"before the first": func(h *hall, v *visitor) {
			h.parked(1)
			v.send(post("first"))
			v.receive()
		},
		"byte by byte": func(h *hall, v *visitor) {
			h.parked(1)
			for _, b := range []byte(post("drop by drop")) {
				v.send(string(b))
				<-time.After(soon) // as slow as what parks
			}
			if got := v.receive(); got != "drop by drop" {
				h.t.Errorf("%q", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, nil)
			v := h.visit()
			converse(h, v)
			h.parked(1)
		})
	}
}

// What has come with the request before is in the server's buffer, where a parked connection would lose it.
func TestNothingInTheBufferIsLost(t *testing.T) {
	second := post("the second")
	for _, with := range []int{1, 2, 3, 4, 10, strings.Index(second, "\r\n\r\n") + 4, len(second) - 1, len(second)} {
		for name, first := range map[string]string{"GET": get("/"), "POST": post("the first")} {
			t.Run(fmt.Sprint(name, " and ", with), func(t *testing.T) {
				h := newHall(t, nil)
				v, others := h.visit(), []*visitor{h.visit(), h.visit()}
				v.send(first + second[:with])
				v.receive()
				for range 5 { // as long as others are parked
					for _, other := range others {
						other.send(get("/"))
						other.receive()
					}
					h.until("others parked", func() bool { now, _ := h.l.Parked(); return now >= len(others) })
				}
				v.send(second[with:])
				if got := v.receive(); got != "the second" {
					t.Errorf("%q", got)
				}
				h.parked(3)
			})
		}
	}
}

// Many ask at whatever moment: each has its answer.
func TestRequestsAtTheMomentOfParking(t *testing.T) {
	h := newHall(t, nil)
	var group sync.WaitGroup
	for range 40 {
		v := h.visit()
		group.Go(func() {
			for i := range 50 {
				want := fmt.Sprint("body ", i)
				if _, err := io.WriteString(v, post(want)); err != nil {
					t.Error(err)
					return
				}
				got, err := http.ReadResponse(v.r, nil)
				if err != nil {
					t.Error(i, err)
					return
				}
				if body, _ := io.ReadAll(got.Body); string(body) != want {
					t.Errorf("%q, want %q", body, want)
				}
				<-time.After(rand.N(2 * soon)) // any moment
			}
		})
	}
	group.Wait()
	h.parked(40)
}

func TestParkedConnectionsEnd(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*accept.Bounds, *http.Server)
		end     func(h *hall, v *visitor)
	}{
		"with the idle timeout": {
			func(_ *accept.Bounds, s *http.Server) { s.IdleTimeout = 50 * soon },
			func(*hall, *visitor) {},
		},
		"with the server's shutdown": {end: func(h *hall, _ *visitor) {
			h.parked(1)
			ctx, cancel := context.WithTimeout(h.t.Context(), 10*time.Second)
			defer cancel()
			if err := h.server.Shutdown(ctx); err != nil {
				h.t.Error(err)
			}
		}},
		"with the listener": {end: func(h *hall, _ *visitor) {
			h.parked(1)
			_ = h.server.Close()
			if err := h.l.Close(); !errors.Is(err, net.ErrClosed) {
				h.t.Errorf("closing again: %v", err)
			}
			if _, err := h.l.Accept(); !errors.Is(err, net.ErrClosed) {
				h.t.Errorf("accepting: %v", err)
			}
		}},
		"to make room": {
			func(b *accept.Bounds, _ *http.Server) { b.All = 2 },
			func(h *hall, _ *visitor) {
				h.parked(1)
				for range 2 {
					other := h.visit()
					other.send(get("/keep"))
					other.receive()
				}
				h.parked(2)
				if h.shed.Load() != 1 {
					h.t.Errorf("%d were shed, want 1", h.shed.Load())
				}
			},
		},
		"by the other side": {end: func(h *hall, v *visitor) {
			h.parked(1)
			if tcp, ok := v.Conn.(*net.TCPConn); !ok || tcp.CloseWrite() != nil {
				h.t.Error("not half closed")
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, test.prepare)
			v := h.visit()
			v.send(get("/"))
			v.receive()
			test.end(h, v)
			v.ended()
		})
	}
}

// A parked connection counts for its address, and stays kept.
func TestParkedConnectionsCount(t *testing.T) {
	h := newHall(t, func(b *accept.Bounds, _ *http.Server) { b.PerAddress = 2; b.Answer = []byte("busy") })
	first, second := h.visit(), h.visit()
	first.send(get("/keep"))
	first.receive()
	h.parked(2)
	third := h.visit()
	if got, _ := io.ReadAll(third); string(got) != "busy" {
		t.Errorf("%q, want that there are too many", got)
	}
	for v, want := range map[*visitor]string{first: "true", second: "false"} {
		v.send(get("/kept"))
		if got := v.receive(); got != want {
			t.Errorf("kept: %s, want %s", got, want)
		}
	}
	h.parked(2)
	second.Close()
	h.parked(1)
	h.visit().send(get("/"))
	h.parked(2)
}

// A connection that a handler has taken is its own, and so is one whose request has begun.
func TestWhatIsUnderWayIsNotParked(t *testing.T) {
	for name, test := range map[string]struct{ first, then, want string }{
		"hijacked":      {get("/hijack"), "echo", "echo"},
		"half a header": {"POST / HTTP/1.1\r\nHost: x\r\nCont", "ent-Length: 4\r\n\r\nbody", "body"},
		"half a body":   {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nhalf", "body", "halfbody"},
		"no body yet":   {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n", "body", "body"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, nil)
			v := h.visit()
			v.send(get("/"))
			v.receive()
			h.parked(1)
			v.send(test.first)
			for range 5 {
				other := h.visit()
				h.until("another parked", func() bool { now, _ := h.l.Parked(); return now >= 1 })
				other.Close()
				h.until("and gone", func() bool { now, _ := h.l.Parked(); return now == 0 })
			}
			v.send(test.then)
			if name != "hijacked" {
				if got := v.receive(); got != test.want {
					t.Errorf("%q, want %q", got, test.want)
				}
				return
			}
			got := make([]byte, len(test.want))
			if _, err := io.ReadFull(v.r, got); err != nil || string(got) != test.want {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
		})
	}
}
