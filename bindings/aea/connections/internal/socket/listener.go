// Package socket holds the common parts of connections that agents open: it accepts connections within bounds, reads and writes frames
// within deadlines, and keeps the connected peers by address.
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

// Bounds are the bounds of one listener. Zero means the default stated with each.
type Bounds struct {
	Connections int // concurrent connections: 4096. The oldest without an agent is closed for a new one, then the one that was idle longest.
	PerAddress  int // concurrent connections of one IP address: 64
	// Greeting is the time for everything before the first envelope: 10s.
	Greeting time.Duration
	// Frame is the time for a frame, from its first byte to its last: 30s.
	Frame time.Duration
	// Write is the time for a peer to read an envelope and, where the protocol requires it, acknowledge it: 60s. Then its connection is
	// closed.
	Write time.Duration
}

// orDefault replaces zero values by the defaults.
func (b Bounds) orDefault() Bounds {
	return Bounds{
		cmp.Or(b.Connections, 4096), cmp.Or(b.PerAddress, 64),
		cmp.Or(b.Greeting, 10*time.Second), cmp.Or(b.Frame, 30*time.Second), cmp.Or(b.Write, time.Minute),
	}
}

// A Listener accepts the connections of agents. It keeps its address when it is served again.
type Listener struct {
	Bounds  Bounds // as configured
	accept  connlimit.Bounds
	address net.Addr

	mu   sync.Mutex
	next net.Listener // nil: must be opened again
	port *runtime.Port
}

// Listen opens a listener at host:port. The default host is the loopback address, 127.0.0.1.
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

// errShed means that a connection was refused, or closed in favour of another one.
var errShed = errors.New("more connections than there may be")

func (l *Listener) shed(connlimit.Cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.port != nil {
		l.port.Refused(errShed)
	}
}

// Address returns the bound address.
func (l *Listener) Address() string { return l.address.String() }

// Local reports whether only this machine can connect.
func (l *Listener) Local() bool {
	at, ok := l.address.(*net.TCPAddr)
	return ok && at.IP.IsLoopback()
}

// Close ends a listener that is not being served.
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

// Take returns the listener to a server that closes it.
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

// Serve calls serve for each connection until ctx ends; the ctx of serve also ends with the connection. When Serve returns, all
// connections are closed and all calls have returned.
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
		default: // for example because of too many open files
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
