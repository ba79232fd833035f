package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// A Command starts an MCP server on standard input and output. See MCP 2026-07-28, basic/transports/stdio.
type Command struct {
	Path string // name or path of the program; a name is searched for in the PATH of the gateway
	Args []string
	Dir  string   // working directory; empty: that of the gateway
	Env  []string // NAME=value: the whole environment of the process
}

// Pauses before a process is started again. The pause doubles from firstPause to longestPause with each process that ends within
// settledAfter.
const (
	firstPause   = time.Second
	longestPause = time.Minute
	settledAfter = time.Minute
)

// A process is a transport to a child process. The process starts when a session is opened. After it has ended, it is started again, after
// a pause.
type process struct {
	cfg Config

	mu       sync.Mutex
	child    *child   // nil: none runs
	closing  []*child // closed processes that have not ended
	closed   bool     // a process runs only while a call is in progress
	starts   int
	failures int       // how many processes in a row ended early
	notUntil time.Time // when the next process may start
	failure  string    // why the last process ended
}

func newProcess(cfg Config) *process { return &process{cfg: cfg} }

// begin returns the running process, and starts one if there is none.
func (p *process) begin(ctx context.Context) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child != nil && p.child.usable() {
		return p.child, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := p.cfg.Now()
	if now.Before(p.notUntil) {
		return nil, ErrNotRunning
	}
	p.starts++
	c, err := startChild(p.cfg, p.ended) //nolint:contextcheck // the process outlives the call that starts it
	if err != nil {
		p.failed(now, "it cannot be started: "+cause(err))
		return nil, ErrNotRunning
	}
	p.child = c
	return c, nil
}

// ended records that a process has ended. closed is true if the gateway ended it because it was no longer needed.
func (p *process) ended(c *child, why string, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == c {
		p.child = nil
	}
	p.closing = slices.DeleteFunc(p.closing, func(other *child) bool { return other == c })
	now := p.cfg.Now()
	if closed {
		return
	}
	if now.Sub(c.started) >= settledAfter {
		p.failures = 0
	}
	p.failed(now, why)
}

func (p *process) failed(now time.Time, why string) {
	pause := min(firstPause<<min(p.failures, 10), longestPause)
	p.failures++
	p.failure, p.notUntil = why, now.Add(pause)
}

func (p *process) good(s *session) bool {
	c, ok := s.of.(*child)
	return ok && c.usable()
}

func (p *process) state() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{Restarts: max(p.starts-1, 0), Closing: len(p.closing), Failure: p.failure}
	if p.child != nil && p.child.alive() {
		s.Running = 1
	}
	return s
}

func (p *process) close() {
	p.mu.Lock()
	c := p.child
	p.child, p.closed = nil, true
	if c != nil {
		p.closing = append(p.closing, c)
	}
	p.mu.Unlock()
	if c != nil {
		c.retire()
	}
}

// idle ends a process that a call started after close.
func (p *process) idle() {
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		p.close()
	}
}

func (p *process) end(ctx context.Context) {
	p.mu.Lock()
	closing := slices.Clone(p.closing)
	p.mu.Unlock()
	for _, c := range closing {
		select {
		case <-c.exited:
		case <-ctx.Done():
			c.kill("the gateway ended")
		}
	}
}

func (p *process) send(ctx context.Context, to *session, m message, admit func() error) (Reply, bool, error) {
	c, ok := to.of.(*child)
	if !ok {
		return Reply{}, false, ErrNotRunning
	}
	leave, ok := c.enter()
	if !ok {
		return Reply{}, false, ErrNotRunning
	}
	defer leave()
	if m.id == 0 {
		n, err := c.write(ctx, m.body, admit)
		return Reply{Status: 202}, n > 0, err
	}
	w := c.await(m.id)
	var reported <-chan Progress // nil: none
	if m.progress != nil {
		reported = c.listen(m.id)
	}
	defer c.forget(m.id)
	n, err := c.write(ctx, m.body, admit)
	if err != nil {
		return Reply{}, n > 0, err
	}
	for {
		select {
		case p := <-reported:
			m.progress(p)
		case got := <-w:
			return m.answered(got, reported), true, nil
		case <-c.gone:
			return c.lost(&m, w, reported)
		case <-ctx.Done():
			c.cancel(m.id) //nolint:contextcheck // ctx has ended
			return Reply{}, true, ctx.Err()
		}
	}
}

// answered returns the reply for a response, after it has passed on the notifications that came before.
func (m *message) answered(got response, reported <-chan Progress) Reply {
	for len(reported) > 0 {
		m.progress(<-reported)
	}
	r := Reply{Status: 200}
	r.set(got)
	return r
}

// lost returns the reply to a request whose process has ended.
func (c *child) lost(m *message, w <-chan response, reported <-chan Progress) (Reply, bool, error) {
	select {
	case got := <-w: // the response came before the process ended
		return m.answered(got, reported), true, nil
	default:
	}
	if c.tooLong.Load() == m.id {
		return Reply{}, true, ErrTooLong
	}
	return Reply{}, true, errGone
}

// errGone means that the process ended while it owed a response.
var errGone = errors.New("the server ended before it responded")

// doubtOpening is like doubt, but spares a new process that may still be starting, because some programs first download others.
func (p *process) doubtOpening() {
	p.mu.Lock()
	c := p.child
	p.mu.Unlock()
	if c != nil && p.cfg.Now().Sub(c.started) >= settledAfter {
		p.doubt(&session{of: c})
	}
}

// doubt ends the process if it does not respond to any request. Servers of all revisions respond even to requests that they do not support.
func (p *process) doubt(s *session) {
	if c, ok := s.of.(*child); ok && c.doubted.CompareAndSwap(false, true) {
		go func() {
			defer c.doubted.Store(false)
			c.probe()
		}()
	}
}
