package runtime

import (
	"context"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A Skill is a capability of an agent. Its handlers respond to messages, and its behaviours run periodically.
type Skill struct {
	// ID identifies the skill inside this agent. Other agents cannot address it.
	ID         wire.PublicID
	Handlers   []Handler // at most one for each protocol
	Behaviours []Behaviour
}

// A Handler handles the messages of one protocol. If several skills have handlers for the same protocol, each handler receives every
// message, so only one of them should reply.
type Handler struct {
	Protocol *protocol.Protocol
	// Handle is called with messages that are valid in their dialogue. Calls are concurrent, but messages of one dialogue are handled one
	// after the other. Errors are counted. If an error wraps protocol.ErrMessage, the sender is notified that the message is meaningless
	// here. ctx ends if the runtime stops and Limits.Drain has passed.
	Handle func(ctx context.Context, m Message) error
}

// A Behaviour is an action that a skill takes periodically: first immediately, and again when Every has passed since the last start. It
// does not start while it is still running.
type Behaviour struct {
	Name  string
	Every time.Duration
	Act   func(ctx context.Context) error
}

// A Task is work that takes too long for a handler.
type Task func(ctx context.Context)

// A Message is a received message, with the data that a Handler needs to reply.
type Message struct {
	dialogue.Turn
	Sender string // the claimed address; the connection may have verified it
	// Connection is the connection on which the message arrived. Replies leave by the same connection.
	Connection wire.PublicID
	// Confidential reports whether only the sender can read the replies.
	Confidential bool

	spec wire.PublicID
	to   string
	back *Queue
	in   *Runtime
}

// Spec returns the specification id that the sender used for the protocol.
func (m Message) Spec() wire.PublicID { return m.spec }

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

// Error sends an error to the sender of the message, outside of dialogues. It sends no more errors than Limits.Errors allows, and none in
// response to an error or an end of the protocol default. It reports whether the error was sent.
func (m Message) Error(d protocol.DefaultMessage) bool {
	d.Performative = protocol.DefaultError
	if isFinal(m.Content) {
		return false
	}
	e := Envelope{wire.Envelope{To: m.to, Sender: m.Sender}, EnvelopeContext{m.Connection, m.back}}
	return m.in.errors.send(e, wire.Message{ID: 1, Content: d.Encode()})
}

func (m Message) context() EnvelopeContext {
	if wire.IsComponent(m.to) {
		return EnvelopeContext{}
	}
	return EnvelopeContext{m.Connection, m.back}
}
