//go:build unix

package connlimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/connlimit"
)

func TestRequestsOnParkedConnections(t *testing.T) {
	for name, converse := range map[string]func(h *listenerTest, v *client){
		"one after another": func(h *listenerTest, v *client) {
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
		"before the first": func(h *listenerTest, v *client) {
			h.parked(1)
			v.send(post("first"))
			v.receive()
		},
		"byte by byte": func(h *listenerTest, v *client) {
			h.parked(1)
			text := post("drop by drop")
			last := len(text) - 1
			for _, b := range []byte(text[:last]) {
				v.send(string(b))
				h.anotherIsParked()
			}
			v.send(text[last:])
			if got := v.receive(); got != "drop by drop" {
				h.t.Errorf("got %q, want %q", got, "drop by drop")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newListenerTest(t, nil)
			v := h.dial()
			converse(h, v)
			h.parked(1)
		})
	}
}

// Data that arrived together with the previous request is in the buffer of the server. Parking the connection would lose it.
func TestBufferedDataIsNotLost(t *testing.T) {
	second := post("the second")
	for _, with := range []int{1, 2, 3, 4, 10, strings.Index(second, "\r\n\r\n") + 4, len(second) - 1, len(second)} {
		for name, first := range map[string]string{"GET": get("/"), "POST": post("the first")} {
			t.Run(fmt.Sprint(name, " and ", with), func(t *testing.T) {
				h := newListenerTest(t, nil)
				v, others := h.dial(), []*client{h.dial(), h.dial()}
				v.send(first + second[:with])
				v.receive()
				for range 5 { // until other connections are parked
					for _, other := range others {
						other.send(get("/"))
						other.receive()
					}
					h.until("others parked", func() bool { now, _ := h.l.Parked(); return now >= len(others) })
				}
				v.send(second[with:])
				if got := v.receive(); got != "the second" {
					t.Errorf("got %q, want %q", got, "the second")
				}
				h.parked(3)
			})
		}
	}
}

// Many clients send requests at random times, and each of them gets its response.
func TestRequestsAtTheMomentOfParking(t *testing.T) {
	h := newListenerTest(t, nil)
	var group sync.WaitGroup
	for range 40 {
		v := h.dial()
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

func TestParkedConnectionsAreClosed(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*connlimit.Bounds, *http.Server)
		end     func(h *listenerTest, v *client)
	}{
		"with the idle timeout": {
			func(_ *connlimit.Bounds, s *http.Server) { s.IdleTimeout = 50 * soon },
			func(*listenerTest, *client) {},
		},
		"with the server's shutdown": {end: func(h *listenerTest, _ *client) {
			h.parked(1)
			ctx, cancel := context.WithTimeout(h.t.Context(), 10*time.Second)
			defer cancel()
			if err := h.server.Shutdown(ctx); err != nil {
				h.t.Error(err)
			}
		}},
		"with the listener": {end: func(h *listenerTest, _ *client) {
			h.parked(1)
			_ = h.server.Close()
			if err := h.l.Close(); !errors.Is(err, net.ErrClosed) {
				h.t.Errorf("closing again: %v, want %v", err, net.ErrClosed)
			}
			if _, err := h.l.Accept(); !errors.Is(err, net.ErrClosed) {
				h.t.Errorf("accepting: %v, want %v", err, net.ErrClosed)
			}
		}},
		"to make room": {
			func(b *connlimit.Bounds, _ *http.Server) { b.All = 2 },
			func(h *listenerTest, _ *client) {
				h.parked(1)
				for range 2 {
					other := h.dial()
					other.send(get("/keep"))
					other.receive()
				}
				h.parked(2)
				if h.shed.Load() != 1 {
					h.t.Errorf("%d were shed, want 1", h.shed.Load())
				}
			},
		},
		"by the other side": {end: func(h *listenerTest, v *client) {
			h.parked(1)
			if tcp, ok := v.Conn.(*net.TCPConn); !ok || tcp.CloseWrite() != nil {
				h.t.Error("not half closed")
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newListenerTest(t, test.prepare)
			v := h.dial()
			v.send(get("/"))
			v.receive()
			test.end(h, v)
			v.ended()
		})
	}
}

// A parked connection counts towards the limit of its address, and stays open.
func TestParkedConnectionsAreCounted(t *testing.T) {
	h := newListenerTest(t, func(b *connlimit.Bounds, _ *http.Server) { b.PerAddress = 2; b.Answer = []byte("busy") })
	first, second := h.dial(), h.dial()
	first.send(get("/keep"))
	first.receive()
	h.parked(2)
	third := h.dial()
	if got, _ := io.ReadAll(third); string(got) != "busy" {
		t.Errorf("%q, want a refusal because of too many connections", got)
	}
	for v, want := range map[*client]string{first: "true", second: "false"} {
		v.send(get("/kept"))
		if got := v.receive(); got != want {
			t.Errorf("kept: %s, want %s", got, want)
		}
	}
	h.parked(2)
	second.Close()
	h.parked(1)
	h.dial().send(get("/"))
	h.parked(2)
}

// Neither a hijacked connection nor one whose request has begun is parked.
func TestActiveConnectionsAreNotParked(t *testing.T) {
	for name, test := range map[string]struct{ first, then, want string }{
		"hijacked":             {get("/hijack"), "echo", "echo"},
		"an incomplete header": {"POST / HTTP/1.1\r\nHost: x\r\nCont", "ent-Length: 4\r\n\r\nbody", "body"},
		"an incomplete body":   {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nhalf", "body", "halfbody"},
		"no body yet":          {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n", "body", "body"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newListenerTest(t, nil)
			v := h.dial()
			v.send(get("/"))
			v.receive()
			h.parked(1)
			v.send(test.first)
			for range 5 {
				h.anotherIsParked()
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
