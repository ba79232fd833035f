package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/internal/ratelimit"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// Errors of Multiplexer.Send, in addition to ErrNoPeer, ErrFull and wire.ErrUnsendable.
var (
	ErrNoConnection = errors.New("no connection or skill has this id")
	ErrNotAllowed   = errors.New("the connection does not send this protocol")
	ErrDown         = errors.New("the connection is down")
)

// A Router selects the connections of envelopes for which no other rule applies.
type Router struct {
	// ByProtocol maps a protocol's specification id to a connection.
	ByProtocol map[wire.PublicID]wire.PublicID
	// Default is the connection for all other protocols. Zero means the first connection that was added.
	Default wire.PublicID
}

// A Multiplexer joins the connections of an agent with its mailbox. It selects the connection over which an envelope is sent:
//
//   - from component to component, the connection that To names, by its complete id or by its author and name; if To names a skill, the
//     envelope goes into the InBox;
//   - from agent to agent, the first of these that exists: the connection in the context of the envelope, the connection of the
//     receiver's last envelope, the connection for the protocol, the default.
type Multiplexer struct {
	address string
	box     MailBox
	reading *semaphore.Weighted
	routes  *routes
	relay   relay
	now     func() time.Time

	unserved atomic.Uint64                                // envelopes for other agents, or from outside for a component
	inside   atomic.Uint64                                // envelopes from a component to a skill
	skill    func(to wire.PublicID) (wire.PublicID, bool) // returns the id of the skill that to names

	mu      sync.RWMutex
	ports   []*Port
	routing Router
	start   func(*Port) // nil: run has not been called
}

func newMultiplexer(address string, l Limits, now func() time.Time) *Multiplexer {
	m := &Multiplexer{
		address: address, box: MailBox{newInBox(l), newOutBox(address, l)}, routes: newRoutes(l.Routes, l.RouteAge), now: now,
		reading: semaphore.NewWeighted(max(l.Reading, 2*wire.MaxEnvelope)),
	}
	m.relay.m, m.relay.perSender = m, ratelimit.NewSet(l.Relay)
	return m
}

// add adds a connection, and starts it if the others have been started.
func (m *Multiplexer) add(c Connection, o ConnectionOptions) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.ContainsFunc(m.ports, func(p *Port) bool { return p.connection.ID() == c.ID() }) {
		return fmt.Errorf("the connection %s already exists", c.ID())
	}
	p := &Port{m: m, connection: c, options: o, confidence: c.Confidential()}
	m.ports = append(m.ports, p)
	if m.start != nil {
		m.start(p)
	}
	return nil
}

// run runs all connections until ctx ends.
func (m *Multiplexer) run(ctx context.Context) {
	var running sync.WaitGroup
	m.mu.Lock()
	m.start = func(p *Port) { running.Go(func() { p.keepUp(ctx) }) }
	for _, p := range m.ports {
		m.start(p)
	}
	m.mu.Unlock()
	<-ctx.Done()
	m.mu.Lock()
	m.start = func(*Port) {}
	m.mu.Unlock()
	running.Wait()
}

// The pauses before a connection is restarted.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// keepUp runs a connection, and restarts it whenever it ends, until ctx ends.
func (p *Port) keepUp(ctx context.Context) {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		began := p.m.now()
		p.up.Store(true)
		err := p.connection.Run(ctx, p)
		p.up.Store(false)
		if ctx.Err() != nil {
			return
		}
		p.restarts.Add(1)
		p.Failed(err)
		if p.m.now().Sub(began) > lastPause {
			pause = firstPause
		}
		_ = delay.For(ctx, pause)
	}
}

// receive implements Port.Receive, Port.ReceiveOf and Port.ReceiveFrom.
func (m *Multiplexer) receive(ctx context.Context, p *Port, e wire.Envelope, from EnvelopeContext) error {
	p.received.Add(1)
	switch {
	case e.ToComponent() != p.options.Inside:
		m.unserved.Add(1)
		return nil
	case p.options.Inside || e.To == m.address:
	case p.options.Relay:
		return m.relay.pass(p, e)
	default:
		m.unserved.Add(1)
		return nil
	}
	if !p.options.Inside {
		m.routes.set(e.Sender, p.connection.ID(), m.now())
	}
	from.ConnectionID = p.connection.ID()
	return m.box.InBox.put(ctx, Envelope{e, from})
}

// Send queues an envelope at its connection, without waiting for the peer. If it returns an error, the envelope is not sent.
func (m *Multiplexer) Send(e Envelope) error {
	if _, err := e.Encode(); err != nil {
		return err
	}
	p, err := m.choose(e)
	if e.ToComponent() && errors.Is(err, ErrNoConnection) {
		return m.toSkill(e.Envelope)
	}
	if err != nil {
		return err
	}
	if slices.Contains(p.options.Excluded, e.Protocol) || len(p.options.Restricted) > 0 && !slices.Contains(p.options.Restricted, e.Protocol) {
		err = ErrNotAllowed
	} else if !p.up.Load() {
		err = ErrDown
	} else if e.Context.back != nil {
		err = e.Context.back.Put(e.Envelope)
	} else {
		err = p.connection.Send(e.Envelope)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", p.connection.ID(), err)
		p.Dropped(1, err)
	}
	return err
}

// choose returns the port of the connection over which an envelope is sent.
func (m *Multiplexer) choose(e Envelope) (*Port, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	named := e.Context.ConnectionID
	if e.ToComponent() {
		if named != (wire.PublicID{}) {
			return nil, fmt.Errorf("%w: an envelope between components has a context", wire.ErrUnsendable)
		}
		return m.component(e.To)
	}
	if named == (wire.PublicID{}) {
		named = m.routes.get(e.To, m.now())
	}
	if named == (wire.PublicID{}) {
		named = m.routing.ByProtocol[e.Protocol]
	}
	if named == (wire.PublicID{}) {
		named = m.routing.Default
	}
	if named == (wire.PublicID{}) {
		return m.port(func(p *Port) bool { return !p.options.Inside })
	}
	return m.port(func(p *Port) bool { return p.connection.ID() == named })
}

// toSkill puts an envelope from a component into the InBox, without waiting for space. Errors are ErrNoConnection if no skill has the id,
// ErrFull and ErrStopped.
func (m *Multiplexer) toSkill(e wire.Envelope) error {
	id, err := wire.ParsePublicID(e.To)
	if err != nil {
		return err
	}
	skill, ok := m.skill(id)
	if !ok {
		return ErrNoConnection
	}
	e.To = skill.String()
	if err := m.box.InBox.offer(Envelope{Envelope: e}); err != nil {
		return err
	}
	m.inside.Add(1)
	return nil
}

func (m *Multiplexer) component(to string) (*Port, error) {
	id, err := wire.ParsePublicID(to)
	if err != nil {
		return nil, err
	}
	if p, err := m.port(func(p *Port) bool { return p.connection.ID() == id }); err == nil {
		return p, nil
	}
	return m.port(func(p *Port) bool {
		own := p.connection.ID()
		return own.Author == id.Author && own.Name == id.Name
	})
}

func (m *Multiplexer) port(is func(*Port) bool) (*Port, error) {
	if at := slices.IndexFunc(m.ports, is); at >= 0 {
		return m.ports[at], nil
	}
	return nil, ErrNoConnection
}

// confidential reports whether only the peer can read envelopes sent to it over this connection.
func (m *Multiplexer) confidential(id wire.PublicID) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p, err := m.port(func(p *Port) bool { return p.connection.ID() == id })
	return err == nil && p.confidence
}
