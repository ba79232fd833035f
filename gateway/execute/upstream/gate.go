package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
)

// An attempt is one request on its way through net/http, which may try several pooled connections for it.
// It is what a connection asks before the first byte of a request, so neither a grant that ended while
// connecting nor a retry inside net/http can send what may not be sent.
type attempt struct {
	grant  grant.Grant
	cancel func() // ends the request, so that net/http does not look for another connection

	mu        sync.Mutex
	connected bool
	written   bool  // a byte may have reached the service
	sealed    bool  // the attempt is over: nothing may be written for it any more
	ended     error // of the grant
}

var (
	errSealed = errors.New("upstream: nothing may be sent on this connection now")
	errStale  = errors.New("upstream: the service closed the idle connection, or spoke on it unasked")
	// errUnasked: an answer came although nothing was sent.
	errUnasked = errors.New("upstream: an answer without a request")
)

// admit allows bytes to be written, the first on a connection only while the grant lives and if none was written
// on another: repeating is for attempts to decide, which count, pause and ask first. It returns whether any were
// written before.
func (a *attempt) admit(first bool) (before bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sealed || a.ended != nil || (first && a.written) {
		a.cancel()
		return a.written, errSealed
	}
	if first {
		if err := a.grant.Alive(); err != nil {
			a.ended = err
			a.cancel()
			return a.written, errSealed
		}
	}
	before, a.written = a.written, true
	return before, nil
}

// nothingTaken takes back what admit noted: the kernel took no byte.
func (a *attempt) nothingTaken(before bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written = before
}

// end makes further writing fail.
func (a *attempt) end() {
	a.mu.Lock()
	a.sealed = true
	a.mu.Unlock()
}

// known returns what is certain about an attempt that ended.
func (a *attempt) known() (connected, written bool, ended error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.connected, a.written, a.ended
}

// A gate is a connection that writes only for an attempt. net/http arms it (httptrace GotConn) before each
// request; HTTP/1.1 has one request at a time on a connection.
//
// It also keeps answers with their requests. A service that sends more than its answer leaves bytes behind
// which net/http, if the next request is quick enough, takes for the answer to that one. So the first byte on
// a used connection waits until net/http's reader waits too, with nothing left in its buffer.
type gate struct {
	net.Conn
	raw net.Conn // below TLS; Conn itself where there is none

	mu      sync.Mutex
	changed sync.Cond // waiting or closed
	attempt *attempt
	started bool // the attempt's first byte on this connection was admitted
	used    bool // by an attempt before this one
	waiting bool // a read is under way that began with an empty buffer
	dirty   bool // bytes were left behind
	closed  bool
}

// readBuffer is the size of net/http's buffer: a read of just so many bytes fills an empty one.
const readBuffer = 4 << 10

func newGate(conn, raw net.Conn) *gate {
	g := &gate{Conn: conn, raw: raw}
	g.changed.L = &g.mu
	return g
}

func (g *gate) arm(a *attempt) {
	g.mu.Lock()
	g.used = g.attempt != nil
	g.attempt, g.started = a, false
	g.mu.Unlock()
	a.mu.Lock()
	a.connected = true
	a.mu.Unlock()
}

func (g *gate) Read(p []byte) (int, error) {
	g.mu.Lock()
	g.waiting = len(p) == readBuffer
	// Before the first byte of a request is written there is nothing to read on with.
	g.dirty = g.dirty || (g.used && !g.started && !g.waiting)
	g.changed.Broadcast()
	g.mu.Unlock()
	n, err := g.Conn.Read(p)
	g.mu.Lock()
	g.waiting = false
	g.mu.Unlock()
	return n, err
}

// Close also ends a Write that waits for its turn, which is how a timeout reaches it.
func (g *gate) Close() error {
	g.mu.Lock()
	g.closed = true
	g.changed.Broadcast()
	g.mu.Unlock()
	return g.Conn.Close()
}

// next returns the attempt to write for, once it is certain whether the connection is clean.
func (g *gate) next() (a *attempt, first, clean bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	first = !g.started
	for first && g.used && !g.waiting && !g.closed && !g.dirty {
		g.changed.Wait()
	}
	g.started = true
	return g.attempt, first, !g.closed && !g.dirty
}

// Write refuses unless the attempt it is armed with may (still) be sent.
func (g *gate) Write(p []byte) (int, error) {
	a, first, clean := g.next()
	if a == nil {
		return 0, errSealed
	}
	// A service that closes idle connections may have done so just now. Seeing that before the first byte
	// keeps a call that may not be repeated from ending with an unknown outcome.
	if first && (!clean || !pristine(g.raw, g.raw == g.Conn)) {
		return 0, errStale
	}
	before, err := a.admit(first)
	if err != nil {
		return 0, err
	}
	n, err := g.Conn.Write(p)
	// Below TLS, part of a record may have gone out although nothing is reported as written.
	if n == 0 && err != nil && g.raw == g.Conn {
		a.nothingTaken(before)
	}
	return n, err
}

func newTransport(cfg Config) *http.Transport {
	dialer := &net.Dialer{Timeout: cfg.Pool.DialTimeout, KeepAlive: 15 * time.Second}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	tlsConfig := &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs, ServerName: cfg.URL.Hostname(), NextProtos: []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return newGate(conn, conn), nil
	}
	dialTLS := func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, cfg.Pool.DialTimeout)
		defer cancel()
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		secure := tls.Client(conn, tlsConfig)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return newGate(secure, conn), nil
	}
	return &http.Transport{
		Proxy:       nil, // never the environment's
		DialContext: dial, DialTLSContext: dialTLS,
		Protocols:              protocols,
		DisableCompression:     true, // answers are decompressed by read, within its bound
		MaxConnsPerHost:        cfg.Pool.MaxConns,
		MaxIdleConns:           cfg.Pool.MaxIdle,
		MaxIdleConnsPerHost:    cfg.Pool.MaxIdle,
		IdleConnTimeout:        cfg.Pool.IdleTimeout,
		MaxResponseHeaderBytes: maxHeader,
		ReadBufferSize:         readBuffer,
	}
}
