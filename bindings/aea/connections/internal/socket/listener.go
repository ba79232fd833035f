// Package socket contains the common parts of connections that listen for agents. It accepts network connections within limits, reads and
// writes frames within deadlines, and holds the connected peers by address.
package socket

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/delay"
)

// Bounds are the limits of one listener. Zero means the default that is stated with each field.
type Bounds struct {
	Connections int // concurrent connections: 4096. Beyond that, a new one replaces one without an agent, or the longest idle one.
	PerAddress  int // concurrent connections from one IP address: 64
	// Greeting limits the time for everything before the first envelope: 10s.
	Greeting time.Duration
	// Frame limits the time for a frame, from its first byte to its last: 30s.
	Frame time.Duration
	// Write limits the time in which a peer must read an envelope and, if the protocol requires it, acknowledge the envelope: 60s. After
	// that, the connection is closed.
	Write time.Duration
}

// orDefault replaces zero values with the defaults.
func (b Bounds) orDefault() Bounds {
	return Bounds{
		cmp.Or(b.Connections, 4096), cmp.Or(b.PerAddress, 64),
		cmp.Or(b.Greeting, 10*time.Second), cmp.Or(b.Frame, 30*time.Second), cmp.Or(b.Write, time.Minute),
	}
}

// A Listener accepts the connections of agents. If it is served again, it listens at the same address.
type Listener struct {
	Bounds  Bounds // as configured
	accept  connlimit.Bounds
	address net.Addr

	mu   sync.Mutex
	next net.Listener // nil: take must open it again
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

// errShed means that a connection was refused, or was closed to make room for another one.
var errShed = errors.New("too many connections")

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

// Close closes a listener that is not being served.
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

// take passes the network listener to a server, which must close it. If a server has already closed it, take opens it again.
func (l *Listener) take(ctx context.Context, port *runtime.Port) (net.Listener, error) {
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

// Serve calls serve for each connection until ctx ends. The context that it passes to serve also ends when serve returns. When Serve
// returns, all connections are closed and all calls have returned. Serve returns nil once ctx has ended, and an error if it cannot listen.
func (l *Listener) Serve(ctx context.Context, port *runtime.Port, serve func(ctx context.Context, c net.Conn)) error {
	ln, err := l.take(ctx, port)
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
		default: // for example, too many files are open
			port.Failed(err)
			_ = delay.For(ctx, 100*time.Millisecond)
		}
	}
}

// ServeRequests passes HTTP/1.1 requests to serve until ctx ends, over TLS if config is not nil. When ServeRequests returns, all
// connections are closed and all calls have returned. It returns nil once ctx has ended, and an error if it cannot listen.
func (l *Listener) ServeRequests(ctx context.Context, port *runtime.Port, config *tls.Config, serve http.HandlerFunc) error {
	ln, err := l.take(ctx, port)
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			serving.Add(1)
			defer serving.Done()
			serve(w, r)
		}),
		TLSConfig: config, Protocols: new(http.Protocols), ConnContext: connlimit.Context, ConnState: connlimit.State,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: l.Bounds.Greeting, ReadTimeout: l.Bounds.Frame, WriteTimeout: l.Bounds.Write, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       log.New(io.Discard, "", 0), // errors of unauthenticated clients, such as those that only fetch the certificate
	}
	server.Protocols.SetHTTP1(true)
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if config != nil {
		err = server.ServeTLS(ln, "", "")
	} else {
		err = server.Serve(ln)
	}
	if ctx.Err() != nil {
		return nil
	}
	_ = server.Close()
	return err
}
