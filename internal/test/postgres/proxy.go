package pgtest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// A Proxy connects a store to its server, and can fail like a network.
type Proxy struct {
	listener net.Listener
	socket   string
	done     sync.WaitGroup

	mu    sync.Mutex
	state linkState
	moved chan struct{} // closed when the state changes
	conns map[net.Conn]struct{}
}

type linkState int

const (
	open linkState = iota
	cut
	stalled
	closed
)

// NewProxy listens on a free port of the loopback address.
func (c *Cluster) NewProxy(ctx context.Context) (*Proxy, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: ln, socket: c.Socket(), moved: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	p.done.Go(func() { p.accept(context.WithoutCancel(ctx)) })
	return p, nil
}

// Proxy returns a proxy that is closed at the end of the test.
func (c *Cluster) Proxy(tb testing.TB) *Proxy {
	tb.Helper()
	p, err := c.NewProxy(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Error(err)
		}
	})
	return p
}

// DSN returns the URL of the same database through the proxy.
func (p *Proxy) DSN(direct string) (string, error) {
	u, err := url.Parse(direct)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Del("host")
	q.Set("sslmode", "disable")
	u.Host, u.RawQuery = p.listener.Addr().String(), q.Encode()
	return u.String(), nil
}

// Cut closes every connection and refuses further ones, until Heal.
func (p *Proxy) Cut() { p.set(cut) }

// Stall keeps connections open, accepts further ones, and forwards nothing, until Heal.
func (p *Proxy) Stall() { p.set(stalled) }

// Heal forwards bytes again.
func (p *Proxy) Heal() { p.set(open) }

// Close closes the proxy and all its connections.
func (p *Proxy) Close() error {
	p.set(closed)
	err := p.listener.Close()
	p.done.Wait()
	return err
}

func (p *Proxy) set(to linkState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == closed {
		return
	}
	p.state = to
	close(p.moved)
	p.moved = make(chan struct{})
	if to == cut || to == closed {
		for conn := range p.conns {
			_ = conn.Close()
		}
	}
}

// pass waits until the proxy may forward bytes, and reports false if the proxy was cut or closed.
func (p *Proxy) pass() bool {
	for {
		p.mu.Lock()
		state, moved := p.state, p.moved
		p.mu.Unlock()
		switch state {
		case open:
			return true
		case cut, closed:
			return false
		case stalled:
			<-moved
		}
	}
}

// hold registers a connection that Close and Cut must close. It reports false if the proxy is cut or closed.
func (p *Proxy) hold(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == cut || p.state == closed {
		return false
	}
	p.conns[conn] = struct{}{}
	return true
}

func (p *Proxy) drop(conn net.Conn) {
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

func (p *Proxy) accept(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			continue
		}
		p.done.Go(func() { p.serve(ctx, client) })
	}
}

func (p *Proxy) serve(ctx context.Context, client net.Conn) {
	defer p.drop(client)
	if !p.hold(client) || !p.pass() {
		return
	}
	server, err := (&net.Dialer{}).DialContext(ctx, "unix", p.socket)
	if err != nil {
		return
	}
	defer p.drop(server)
	if !p.hold(server) {
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			p.copy(way[0], way[1])
			_, _ = way[0].Close(), way[1].Close() // ends the other direction too
		})
	}
	both.Wait()
}

func (p *Proxy) copy(from io.Reader, to io.Writer) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !p.pass() {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
