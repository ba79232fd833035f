// Package socket holds the common parts of connections that agents open: accepting within bounds, frames within a time, and the connected
// peers by address.
package socket

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/connlimit"
)

// Bounds are those of one listener. Zero means the default given with each.
type Bounds struct {
	Connections int // at once, of all: 4096. The oldest without an agent makes room, then the one that is silent for longest.
	PerAddress  int // at once, of one IP address: 64
	// Greeting is the time for all that comes before the first envelope: 10s.
	Greeting time.Duration
	// Frame is the time for a frame that comes, from its first byte to its last: 30s.
	Frame time.Duration
	// Write is the time for a peer to take, and where it has to, acknowledge what is sent: 60s. Then its connection is closed.
	Write time.Duration
}

// orDefault fills in what is zero.
func (b Bounds) orDefault() Bounds {
	return Bounds{
		cmp.Or(b.Connections, 4096), cmp.Or(b.PerAddress, 64),
		cmp.Or(b.Greeting, 10*time.Second), cmp.Or(b.Frame, 30*time.Second), cmp.Or(b.Write, time.Minute),
	}
}

// A Listener accepts the connections of agents. What it was opened with stays its address when it is served again.
type Listener struct {
	Bounds  Bounds // as they are
	accept  connlimit.Bounds
	address net.Addr

	mu   sync.Mutex
	next net.Listener // nil: to be opened anew
	port *runtime.Port
}

// Listen opens a listener at host:port. Without a host it is that of this machine alone, 127.0.0.1.
func Listen(ctx context.Context, address string, b Bounds) (*Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if host == "" {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	l := &Listener{Bounds: b.orDefault()}
	l.accept = connlimit.Bounds{
		All: l.Bounds.Connections, PerAddress: l.Bounds.PerAddress, Exempt: func(netip.Addr) bool { return false }, Shed: l.shed,
	}
	if l.next, err = l.open(ctx, address); err != nil {
		return nil, err
	}
	l.address = l.next.Addr()
	return l, nil
}

func (l *Listener) open(ctx context.Context, address string) (net.Listener, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return connlimit.New(ln, l.accept), nil
}

// errShed means that a connection was refused, or closed to make room for another one.
var errShed = errors.New("more connections than there may be")

func (l *Listener) shed(connlimit.Cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.port != nil {
		l.port.Refused(errShed)
	}
}

// Address is the one that was bound.
func (l *Listener) Address() string { return l.address.String() }

// Local reports whether only this machine can connect.
func (l *Listener) Local() bool {
	at, ok := l.address.(*net.TCPAddr)
	return ok && at.IP.IsLoopback()
}

// Close ends a listener that is not served, or not any more.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		return nil
	}
	ln := l.next
	l.next = nil
	return ln.Close()
}

// Take returns the listener, for one that serves it and closes it then.
func (l *Listener) Take(ctx context.Context, port *runtime.Port) (net.Listener, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.port = port
	ln := l.next
	l.next = nil
	if ln != nil {
		return ln, nil
	}
	return l.open(ctx, l.address.String())
}

// Serve calls serve for each connection, until ctx ends; ctx of serve ends with the connection as well. When Serve returns, all
// connections are closed, and all calls have returned.
func (l *Listener) Serve(ctx context.Context, port *runtime.Port, serve func(ctx context.Context, c net.Conn)) error {
	ln, err := l.Take(ctx, port)
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = ln.Close() })()
	for {
		c, err := ln.Accept()
		switch {
		case err == nil:
			serving.Go(func() {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				defer c.Close()
				defer context.AfterFunc(ctx, func() { _ = c.Close() })()
				serve(ctx, c)
			})
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default: // such as too many open files
			port.Failed(err)
			pause(ctx, 100*time.Millisecond)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
