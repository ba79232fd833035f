// Package pool is an HTTP/1.1 client with a pool of connections to one web service. Each connection carries one request at a time. Requests
// run on the goroutine of the caller.
//
// This package exists because of four properties of net/http's client. It does not call back right before it writes the first byte, and
// does not report whether it wrote a byte. It may repeat a request, and may interpret bytes that a service sends after a response as the
// response to the next request. This package keeps only the requested header fields of a response; other fields take no memory.
//
//	c, err := p.Take(ctx)
//	defer c.Release()
//	written, err := c.Send(pool.Request{…}, mayBeSent)
//	resp, err := c.Answer() // read its body to the end
package pool

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/net/idna"
)

// A Config is the address of the service and the limits for connections. All fields except TLS and Keep are required.
type Config struct {
	URL         *url.URL      // URL with scheme http or https, and a host
	TLS         *tls.Config   // nil: no TLS, even if the scheme of URL is https
	MaxConns    int           // maximum number of connections in use; Take waits while all are in use
	MaxIdle     int           // maximum number of idle connections
	IdleTimeout time.Duration // how long an idle connection is kept open
	DialTimeout time.Duration // maximum time for connecting, including TLS
	MaxHeader   int64         // maximum size of the head of a response, in bytes, including preceding informational responses
	Keep        []string      // names of the response header fields to keep
	Now         func() time.Time
}

// A Pool holds the connections to one web service. It is safe for concurrent use.
type Pool struct {
	cfg     Config
	dialer  net.Dialer
	address string // host:port
	host    string // the value of the Host header
	using   chan struct{}

	mu     sync.Mutex
	idle   []*Conn // in the order of their last use
	closed bool    // Close was called since the last Take
	sweeps bool    // a sweep is scheduled
}

// New returns a Pool, without connecting. It returns an error if the host is not a valid name.
func New(cfg Config) (*Pool, error) {
	host := cfg.URL.Hostname()
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return nil, fmt.Errorf("the host is not a valid name: %w", err)
		}
		host = ascii
	}
	port := cfg.URL.Port()
	p := &Pool{
		cfg: cfg, dialer: net.Dialer{Timeout: cfg.DialTimeout, KeepAlive: 15 * time.Second}, host: hostHeader(host, port),
		using: make(chan struct{}, cfg.MaxConns),
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[cfg.URL.Scheme]
	}
	p.address = net.JoinHostPort(host, port)
	return p, nil
}

// Take returns an idle or a new connection. If MaxConns connections are in use, it waits until one is released or ctx ends. It discards
// idle connections that the service has closed, or on which the service has sent bytes without a request. When ctx ends, all operations on
// the connection fail.
func (p *Pool) Take(ctx context.Context) (*Conn, error) {
	select {
	case p.using <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c, err := p.clean(ctx)
	if err != nil {
		<-p.using
		return nil, err
	}
	c.stop = context.AfterFunc(ctx, func() { _ = c.raw.SetDeadline(past) })
	return c, nil
}

func (p *Pool) clean(ctx context.Context) (*Conn, error) {
	for {
		c := p.last()
		if c == nil {
			return p.dial(ctx)
		}
		if c.clean() {
			return c, nil
		}
		c.close()
	}
}

// last removes and returns the idle connection that was used most recently, or nil if there is none.
func (p *Pool) last() *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = false
	n := len(p.idle) - 1
	if n < 0 {
		return nil
	}
	c := p.idle[n]
	p.idle[n] = nil
	p.idle = p.idle[:n]
	return c
}

func (p *Pool) dial(ctx context.Context) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.DialTimeout)
	defer cancel()
	raw, err := p.dialer.DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, err
	}
	if p.cfg.TLS == nil {
		return newConn(p, raw, raw), nil
	}
	secure := tls.Client(raw, p.cfg.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return newConn(p, secure, raw), nil
}

// keep adds an idle connection to the pool. It returns false if the pool is full or was closed.
func (p *Pool) keep(c *Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= p.cfg.MaxIdle {
		return false
	}
	c.since = p.cfg.Now()
	p.idle = append(p.idle, c)
	if !p.sweeps {
		p.sweeps = true
		time.AfterFunc(p.cfg.IdleTimeout, p.sweep)
	}
	return true
}

// sweep closes the connections that have been idle for too long.
func (p *Pool) sweep() {
	p.mu.Lock()
	limit := p.cfg.Now().Add(-p.cfg.IdleTimeout)
	n := slices.IndexFunc(p.idle, func(c *Conn) bool { return c.since.After(limit) })
	if n < 0 {
		n = len(p.idle)
	}
	old := slices.Clone(p.idle[:n])
	p.idle = slices.Delete(p.idle, 0, n)
	if p.sweeps = len(p.idle) > 0; p.sweeps {
		time.AfterFunc(p.idle[0].since.Sub(limit), p.sweep)
	}
	p.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

// Close closes the idle connections. Connections in use are closed when they are released, unless Take is called first. The Pool remains
// usable: the next Take opens a new connection.
func (p *Pool) Close() {
	p.mu.Lock()
	old := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}
