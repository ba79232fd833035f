//go:build unix

package connlimit_test

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/uimgate/uimgate/internal/connlimit"
)

// A failingListener accepts as many connections as there are descriptors, and then returns an error.
type failingListener struct {
	net.Listener
	descriptors, failures atomic.Int64
	err                   error
}

func (f *failingListener) Accept() (net.Conn, error) {
	if f.descriptors.Add(-1) < 0 {
		f.failures.Add(1)
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: f.err}
	}
	return f.Listener.Accept()
}

// While no descriptor is free for new connections, open connections are served. New ones are served once a descriptor is free.
func TestServedDuringAcceptErrors(t *testing.T) {
	for _, cause := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED} {
		t.Run(cause.Error(), func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var reported atomic.Int64
			f := &failingListener{Listener: ln, err: cause}
			f.descriptors.Store(1)
			h := newListenerTestAt(t, f, func(b *connlimit.Bounds, _ *http.Server) {
				b.Trouble = func(err error) {
					if !errors.Is(err, cause) {
						t.Errorf("got %v, want %v", err, cause)
					}
					reported.Add(1)
				}
			})
			v := h.dial()
			for n := range int64(3) {
				h.until("another failure", func() bool { return f.failures.Load() > n })
				h.parked(1)
				v.send(post("still here"))
				if got := v.receive(); got != "still here" {
					t.Errorf("got %q, want %q", got, "still here")
				}
			}
			f.descriptors.Store(1)
			other := h.dial()
			other.send(post("new"))
			if got := other.receive(); got != "new" {
				t.Errorf("got %q, want %q", got, "new")
			}
			if h.failed.Load() != 0 || reported.Load() != 1 {
				t.Errorf("Accept returned %d errors, want none; Trouble got %d, want one", h.failed.Load(), reported.Load())
			}
		})
	}
}

func TestPermanentErrorsAreReturned(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := connlimit.New(&failingListener{Listener: ln, err: syscall.EINVAL}, connlimit.Bounds{
		All: 1, PerAddress: 1, Exempt: func(netip.Addr) bool { return false }, Shed: func(connlimit.Cause) {},
		Trouble: func(err error) { t.Error(err) },
	})
	for range 3 {
		if _, err := l.Accept(); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("got %v, want %v", err, syscall.EINVAL)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
