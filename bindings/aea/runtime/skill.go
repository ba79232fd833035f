package runtime

import (
	"context"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A Skill is a capability of an agent. Its handlers respond to messages, its behaviours act on their own, and its tasks do background work.
// Several skills may have handlers for one protocol.
type Skill struct {
	// ID identifies the skill inside this agent. Other agents cannot address it; skills of the same agent can, with Runtime.Start.
	ID wire.PublicID
	// Protocols are the protocols that only this skill brings. They are registered and removed with it.
	Protocols  []*protocol.Protocol
	Handlers   []Handler // at most one for each protocol
	Behaviours []Behaviour
	Tasks      []Task
	// Patient means that the handlers bound their time themselves, and that the runtime waits for them. Otherwise, if a handler takes longer
	// than Limits.Handler for a message, the message no longer counts as being processed, and its dialogue continues. While the number of such
	// calls in progress is at least a quarter of Limits.Workers, the skill gets no messages. Senders get an error for messages that no other
	// skill handles.
	Patient bool
	// Disabled means that the skill is added disabled. Filter.SetEnabled enables it.
	Disabled bool
	// State returns the state that other skills may read with Resources.State. It must be safe for concurrent use. nil: none.
	State func() any
}

// A Handler handles the messages of one protocol. If several skills have handlers for the same protocol, each handler receives every
// message of other agents, so only one of them should reply. A message of another skill goes only to the skill that it names.
type Handler struct {
	Protocol *protocol.Protocol
	// Handle is called with messages that are valid in their dialogue. Calls are concurrent, but messages of one dialogue are handled one
	// after the other. Errors are counted. If an error wraps protocol.ErrMessage, the sender is notified that the message is meaningless
	// here. ctx ends if the runtime stops and Limits.Drain has passed.
	Handle func(ctx context.Context, m Message) error
}

// A Behaviour is an action that a skill takes on its own: first when After has passed since it was added, and, unless Once is set, again
// when Every has passed since the last start. It does not start while it is still running.
type Behaviour struct {
	Name  string
	After time.Duration
	Every time.Duration
	Once  bool
	Act   func(ctx context.Context) error
	// Stop undoes the work of Act, when the skill is removed or the runtime stops. It is called at most once, if Act has run, and never while
	// Act runs. It may still send messages, but receives no replies when the runtime stops. nil: nothing is done.
	Stop func(ctx context.Context) error
}

// A Task is background work of a skill, which takes too long for a handler. Runtime.Enqueue starts it.
type Task struct {
	Name    string // unique in the skill
	Execute func(ctx context.Context, argument any) (result any, err error)
}

// A Message is a received message, with the data that a Handler needs to reply.
type Message struct {
	dialogue.Turn
	Sender string // the claimed address; the connection may have verified it
	// Connection is the connection on which the message arrived. Replies leave over the same connection.
	Connection wire.PublicID
	// Confidential reports whether only the sender can read the replies.
	Confidential bool

	spec wire.PublicID
	to   string
	from EnvelopeContext
	in   *Runtime
}

// Inside reports whether the sender is a component of this agent: a skill or a connection.
func (m Message) Inside() bool { return wire.IsComponent(m.to) }

// Peer returns the sender, as a value for comparison.
func (m Message) Peer() Peer {
	return Peer{Address: m.Sender, Connection: m.Connection, Proven: m.from.back == nil, queue: m.from.peer}
}

// A Peer is the sender of a message on one connection. Two Peers are equal if they have the same address on the same connection, and the
// sender has not left in between.
type Peer struct {
	Address    string
	Connection wire.PublicID // zero: another skill of this agent
	// Proven reports whether the connection proves the address, or whether only the operator can use the connection.
	Proven bool
	queue  *Queue
}

// Connected reports whether the peer is still connected. Connections without sessions, such as the files of stub, never report that a peer
// has left.
func (p Peer) Connected() bool { return p.queue == nil || p.queue.open() }

// HasSession reports whether the connection notices when the peer leaves.
func (p Peer) HasSession() bool { return p.queue != nil || p.Connection == (wire.PublicID{}) }

// Reply replies to the message, over the connection on which the message arrived. It may also be called after Handle has returned, and as
// often as the protocol allows. Errors are protocol.ErrDialogue and those of Multiplexer.Send.
func (m Message) Reply(c protocol.Content) error {
	if m.Dialogue == nil {
		return protocol.ErrDialogue
	}
	reply := m.Dialogue.Reply
	if m.Repeated {
		reply = m.Dialogue.Again
	}
	e, err := reply(m.Message.ID, c)
	if err != nil {
		return err
	}
	return m.in.multiplexer.Send(Envelope{e, m.context()})
}

// Error sends an error to the sender of the message, outside dialogues. It sends no more errors than Limits.Errors allows, and none in
// response to an error or an end of the default protocol. It reports whether the error was sent.
func (m Message) Error(d protocol.DefaultMessage) bool {
	d.Performative = protocol.DefaultError
	if isFinal(m.Content) {
		return false
	}
	e := Envelope{wire.Envelope{To: m.to, Sender: m.Sender}, EnvelopeContext{ConnectionID: m.Connection, back: m.from.back}}
	return m.in.errors.send(e, wire.Message{ID: 1, Content: d.Encode()})
}

func (m Message) context() EnvelopeContext {
	if wire.IsComponent(m.to) {
		return EnvelopeContext{}
	}
	return EnvelopeContext{ConnectionID: m.Connection, back: m.from.back}
}
