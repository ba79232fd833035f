//go:build unix

package connlimit_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/connlimit"
)

// A listenerTest is a server that parks connections as soon as no data arrives.
type listenerTest struct {
	t       *testing.T
	l       *connlimit.Listener
	server  *http.Server
	address string
	shed    atomic.Int64
	failed  atomic.Int64                // errors that Accept returned while the listener was open
	open    map[net.Conn]http.ConnState // as net/http sees it
	mu      sync.Mutex
}

const (
	soon  = time.Millisecond
	later = time.Minute // longer than any test
)

// newListenerTest starts a server. prepare may change its settings. /keep keeps the connection, /hijack hijacks it and echoes its data,
// and all other paths respond with the body.
func newListenerTest(t *testing.T, prepare func(*connlimit.Bounds, *http.Server)) *listenerTest {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newListenerTestAt(t, ln, prepare)
}

func newListenerTestAt(t *testing.T, ln net.Listener, prepare func(*connlimit.Bounds, *http.Server)) *listenerTest {
	t.Helper()
	h := &listenerTest{t: t, open: map[net.Conn]http.ConnState{}}
	b := connlimit.Bounds{
		All: 10_000, PerAddress: 10_000, Exempt: func(netip.Addr) bool { return false }, Shed: func(connlimit.Cause) { h.shed.Add(1) },
		Park: soon,
	}
	h.server = &http.Server{
		Handler: http.HandlerFunc(answer), ReadHeaderTimeout: later, IdleTimeout: later, ConnContext: connlimit.Context,
		ConnState: func(c net.Conn, state http.ConnState) {
			connlimit.State(c, state)
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.open[c] = state; state == http.StateClosed || state == http.StateHijacked {
				delete(h.open, c)
			}
		},
	}
	if prepare != nil {
		prepare(&b, h.server)
	}
	h.l, h.address = connlimit.New(ln, b), ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(countingListener{h.l, &h.failed}) }()
	t.Cleanup(func() {
		if err := h.server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("got %v, want %v", err, http.ErrServerClosed)
		}
	})
	return h
}

// A countingListener counts the errors of Accept.
type countingListener struct {
	net.Listener
	failed *atomic.Int64
}

func (w countingListener) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		w.failed.Add(1)
	}
	return c, err
}

// active returns how many connections have a request in progress.
func (h *listenerTest) active() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, state := range h.open {
		if state == http.StateActive {
			n++
		}
	}
	return n
}

func answer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		if r.Method != http.MethodGet && r.Method != http.MethodPost { // such as OST
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	case "/served":
		connlimit.Of(r.Context()).MarkServed()
	case "/keep":
		connlimit.Of(r.Context()).Keep()
	case "/kept":
		_, _ = fmt.Fprint(w, connlimit.Of(r.Context()).Kept())
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

// A client is the client's end of a connection.
type client struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func (h *listenerTest) dial() *client {
	h.t.Helper()
	c, err := net.Dial("tcp", h.address)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close() })
	return &client{c, h.t, bufio.NewReader(c)}
}

func (v *client) send(text string) {
	v.t.Helper()
	if _, err := io.WriteString(v, text); err != nil {
		v.t.Fatal(err)
	}
}

func (v *client) receive() string {
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

// ended waits until the connection is closed.
func (v *client) ended() {
	v.t.Helper()
	if rest, err := io.ReadAll(v.r); len(rest) > 0 || (err != nil && !strings.Contains(err.Error(), "reset")) {
		v.t.Errorf("%q, %v, want the end", rest, err)
	}
}

func post(body string) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }

// until waits until a condition is true.
func (h *listenerTest) until(what string, so func() bool) {
	h.t.Helper()
	for began := time.Now(); !so(); runtime.Gosched() {
		if time.Since(began) > 10*time.Second {
			h.t.Fatal("not in ten seconds: " + what)
		}
	}
}

// parked waits until n connections are parked and none is being served.
func (h *listenerTest) parked(n int) {
	h.t.Helper()
	h.until(fmt.Sprint(n, " parked"), func() bool {
		now, _ := h.l.Parked()
		h.mu.Lock()
		defer h.mu.Unlock()
		return now == n && len(h.open) == 0
	})
}

// anotherIsParked opens a connection, waits until that connection is parked, and closes that connection. No other connection may be parked
// during that time.
func (h *listenerTest) anotherIsParked() {
	h.t.Helper()
	other := h.dial()
	h.until("another parked", func() bool { now, _ := h.l.Parked(); return now >= 1 })
	other.Close()
	h.until("and gone", func() bool { now, _ := h.l.Parked(); return now == 0 })
}
