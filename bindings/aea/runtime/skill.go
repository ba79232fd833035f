package runtime

import (
	"context"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A Skill is a capability of an agent: it responds to messages, and acts by itself.
type Skill struct {
	// ID names the skill inside this agent. Agents outside cannot name it.
	ID         wire.PublicID
	Handlers   []Handler // at most one for each protocol
	Behaviours []Behaviour
}

// A Handler handles the messages of one protocol. If several skills have handlers of the same protocol, each receives every message, so
// only one of them should reply.
type Handler struct {
	Protocol *protocol.Protocol
	// Handle is called with messages that are valid in their dialogue: concurrently, but one after the other within a dialogue. An error
	// is counted; one that wraps protocol.ErrMessage notifies the sender that the message has no meaning here. ctx ends when the stopping
	// runtime has waited long enough.
	Handle func(ctx context.Context, m Message) error
}

// A Behaviour is an action that a skill takes by itself: immediately, and again each time Every has passed since it began, but not before
// it has ended.
type Behaviour struct {
	Name  string
	Every time.Duration
	Act   func(ctx context.Context) error
}

// A Task is work that a handler delegates because it takes long.
type Task func(ctx context.Context)

// A Message is the input of a Handler.
type Message struct {
	dialogue.Turn
	Sender string // as claimed; only the connection can prove it
	// Connection is the connection that the message arrived on; replies leave by it.
	Connection wire.PublicID
	// Confidential reports whether only the sender can read the replies.
	Confidential bool

	spec wire.PublicID
	to   string
	back *Queue
	in   *Runtime
}

// Spec returns the specification id that the sender has for the protocol.
func (m Message) Spec() wire.PublicID { return m.spec }

// Reply replies to the message, over the connection that it arrived on. It may be called after Handle, and as often as the protocol
// allows. Errors are protocol.ErrDialogue and those of Multiplexer.Send.
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

// Error sends the sender an error outside of dialogues: at most as many as Limits.Errors allows, and none in response to an error or an
// end of the protocol default. It reports whether the error was sent.
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
