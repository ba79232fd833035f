package runtime

import (
	"context"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A Skill is something that an agent can do: answer messages, and act by itself.
type Skill struct {
	// ID names the skill inside of this agent. Agents outside cannot name it.
	ID         wire.PublicID
	Handlers   []Handler // at most one for each protocol
	Behaviours []Behaviour
}

// A Handler takes the messages of one protocol. Several skills may have handlers of the same protocol: each of them is given every
// message, so only one of them should answer.
type Handler struct {
	Protocol *protocol.Protocol
	// Handle is called with messages that are in order in their dialogue: concurrently, but one after the other within a dialogue. An
	// error is counted; one that wraps protocol.ErrMessage notifies the sender that the message has no meaning here. ctx ends when the
	// runtime has waited long enough for its end.
	Handle func(ctx context.Context, m Message) error
}

// A Behaviour is what a skill does by itself: at once, and again each time that Every has passed since it began, but not before
// it has ended.
type Behaviour struct {
	Name  string
	Every time.Duration
	Act   func(ctx context.Context) error
}

// A Task is work that a handler leaves to others, because it takes long.
type Task func(ctx context.Context)

// A Message is what a Handler is given.
type Message struct {
	dialogue.Turn
	Sender string // as claimed; only the connection can prove it
	// Connection is the one that the message came by, and answers leave by.
	Connection wire.PublicID
	// Confidential reports whether only the sender can read what is answered.
	Confidential bool

	spec wire.PublicID
	to   string
	back *Queue
	in   *Runtime
}

// Spec returns the specification id that the sender has for the protocol.
func (m Message) Spec() wire.PublicID { return m.spec }

// Reply answers the message, by the connection that it came by. It may be called after Handle, and as often as the protocol allows.
// Errors are protocol.ErrDialogue and those of Multiplexer.Send.
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

// Error sends the sender an error outside of dialogues: at most as many as Limits.Errors allows, and none in answer to an error or an end
// of the protocol default. It reports whether it was sent.
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
