// Package pool keeps connections to one web service and carries one HTTP/1.1 request at a time on each, on the goroutine of the caller.
//
// It exists because net/http's client cannot promise four things: to call back right before it writes the first byte, to report
// afterwards whether it wrote one, to repeat nothing, and never to take bytes that a service sends after its response for the response to
// the next request. It keeps only the requested fields of the head of a response; other fields take no memory.
//
//	c, err := p.Take(ctx, until)
//	defer c.Release()
//	written, err := c.Send(pool.Request{…}, mayBeSent)
//	resp, err := c.Answer() // whose body is read to its end
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

// A Config has the address of the service, and the bounds of the connections to it. All fields except TLS and Keep are required.
type Config struct {
	URL         *url.URL      // http or https, and a host
	TLS         *tls.Config   // for https
	MaxConns    int           // open connections; Take waits for one
	MaxIdle     int           // kept open
	IdleTimeout time.Duration // how long an idle one is kept
	DialTimeout time.Duration // for connecting, TLS included
	MaxHeader   int64         // bytes of the head of a response, including preceding informational responses
	Keep        []string      // names of the response fields to keep
	Now         func() time.Time
}

// A Pool is safe for concurrent use.
type Pool struct {
	cfg     Config
	dialer  net.Dialer
	address string // host:port
	host    string // the value of the header Host
	using   chan struct{}

	mu     sync.Mutex
	idle   []*Conn // the one used last is the last
	closed bool    // since the last Take
	sweeps bool    // a sweep is scheduled
}

// New makes a Pool without connecting. It returns an error if the host is invalid.
func New(cfg Config) (*Pool, error) {
	host := cfg.URL.Hostname()
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return nil, fmt.Errorf("the host is not a name: %w", err)
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

// Take returns an idle connection, and waits for one as long as ctx allows. It skips connections that the service has closed or sent
// unrequested bytes on. After the time until, or when ctx ends before, whatever the connection does fails.
func (p *Pool) Take(ctx context.Context, until time.Time) (*Conn, error) {
	if err := p.enter(ctx, until); err != nil {
		return nil, err
	}
	c, err := p.clean(ctx, until)
	if err != nil {
		<-p.using
		return nil, err
	}
	c.watch(ctx, until)
	return c, nil
}

// enter waits for a place among the connections.
func (p *Pool) enter(ctx context.Context, until time.Time) error {
	select {
	case p.using <- struct{}{}:
		return nil
	default:
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	select {
	case p.using <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Pool) clean(ctx context.Context, until time.Time) (*Conn, error) {
	for {
		c := p.last()
		if c == nil {
			return p.dial(ctx, until)
		}
		if c.clean() {
			return c, nil
		}
		c.close()
	}
}

// last takes the idle connection that was used last. nil: there is none.
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

func (p *Pool) dial(ctx context.Context, until time.Time) (*Conn, error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, p.cfg.DialTimeout)
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

// keep returns a connection to the pool. It returns false if the pool is full or closed.
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

// Close closes the idle connections, and those in use as soon as they are released. The Pool can be used again.
func (p *Pool) Close() {
	p.mu.Lock()
	old := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}
