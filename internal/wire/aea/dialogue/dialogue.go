package dialogue

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A Label identifies a dialogue between two agents.
type Label struct {
	StarterRef   string
	ResponderRef string // empty until the responder has replied
	Opponent     string // the address of the other side
	Starter      string // the address of the side that began the dialogue
}

// A Dialogue is one conversation with one opponent.
type Dialogue struct {
	in   *Dialogues
	name name
	spec wire.PublicID // as received; replies have the same id

	// The fields below are guarded by in.mu.
	responderRef string
	theirs, ours []protocol.Performative // sent by each side, in order
	named        bool                    // whether the opponent has used our reference
	hasEnded     bool
	state        protocol.EndState
	last         last

	rank       rank
	ofRank     *list.Element
	ofOpponent *list.Element
	used       time.Time
}

// last describes the last received message, so that its repetition is recognized.
type last struct {
	id      int32
	digest  [sha256.Size]byte     // the digest of the whole message
	answers protocol.Performative // the performative of the message that it replied to
	answer  int32                 // the id of the first reply to it; 0 means none yet
}

// Protocol returns the protocol of the dialogue.
func (g *Dialogue) Protocol() *protocol.Protocol { return g.name.protocol }

// Label returns the label. ResponderRef is empty if it is not known yet.
func (g *Dialogue) Label() Label {
	g.in.mu.Lock()
	defer g.in.mu.Unlock()
	l := Label{StarterRef: g.name.starterRef, ResponderRef: g.responderRef, Opponent: g.name.opponent, Starter: g.name.opponent}
	if g.name.ours {
		l.Starter = g.in.self
	}
	return l
}

// End returns the state in which the dialogue has ended, and reports whether it has ended.
func (g *Dialogue) End() (protocol.EndState, bool) {
	g.in.mu.Lock()
	defer g.in.mu.Unlock()
	return g.state, g.hasEnded
}

// Reply creates a reply to the message with the id target, and returns the envelope to send. The error wraps protocol.ErrDialogue if the
// protocol does not permit this content as a reply, or if the dialogue has ended or has too many messages. It wraps wire.ErrUnsendable if
// the reply is too long. Reply also works for a dialogue that was removed from its Dialogues.
func (g *Dialogue) Reply(target int32, c protocol.Content) (wire.Envelope, error) {
	g.in.mu.Lock()
	defer g.in.mu.Unlock()
	return g.reply(target, c)
}

func (g *Dialogue) reply(target int32, c protocol.Content) (wire.Envelope, error) {
	answers, err := g.check(c.Kind(), target, len(g.ours))
	if err != nil {
		return wire.Envelope{}, err
	}
	id := int32(len(g.ours) + 1)
	if !g.name.ours {
		id = -id
	}
	e, err := g.envelope(id, target, c)
	if err != nil {
		return wire.Envelope{}, err
	}
	g.ours = append(g.ours, c.Kind())
	if g.last.id == target && g.last.answer == 0 {
		g.last.answer = id
	}
	g.settle(c.Kind(), answers, g.in.now())
	return e, nil
}

// Again creates a reply to a message that was received again. If the message already has a reply, the new one has the id of the first
// reply: an opponent that did not receive the first reply accepts no other id. The errors are those of Reply.
func (g *Dialogue) Again(target int32, c protocol.Content) (wire.Envelope, error) {
	g.in.mu.Lock()
	defer g.in.mu.Unlock()
	if g.last.id != target || g.last.answer == 0 {
		return g.reply(target, c)
	}
	return g.envelope(g.last.answer, target, c)
}

// repeats reports whether m repeats the last received message and is of a kind that is replied to again.
func (g *Dialogue) repeats(m wire.Message, says protocol.Performative, digest [sha256.Size]byte) bool {
	return !g.hasEnded && g.name.protocol.Rules.AnswersAgain(says) && g.last.id == m.ID && g.last.digest == digest
}

// envelope creates the envelope of a message to the opponent.
func (g *Dialogue) envelope(id, target int32, c protocol.Content) (wire.Envelope, error) {
	m := wire.Message{ID: id, StarterRef: g.name.starterRef, ResponderRef: g.responderRef, Target: target, Content: c.Encode()}
	data, err := m.Encode()
	if err != nil {
		return wire.Envelope{}, err
	}
	e := wire.Envelope{To: g.name.opponent, Sender: g.in.self, Protocol: g.spec, Message: data}
	if _, err := e.Encode(); err != nil {
		return wire.Envelope{}, err
	}
	return e, nil
}

// receive accepts the next message of the opponent, and returns the performative of the message that it replies to.
func (g *Dialogue) receive(m wire.Message, says protocol.Performative, now time.Time) (protocol.Performative, error) {
	if !g.isNamedBy(m) {
		return "", refuse("its responder reference does not match")
	}
	next := int64(len(g.theirs) + 1)
	if g.name.ours {
		next = -next
	}
	if int64(m.ID) != next {
		return "", refuse("its id is not the expected one")
	}
	answers, err := g.check(says, m.Target, len(g.theirs))
	if err != nil {
		return "", err
	}
	if g.name.ours && g.responderRef == "" {
		g.responderRef = m.ResponderRef
	}
	g.named = g.named || g.name.ours || m.ResponderRef != ""
	g.theirs = append(g.theirs, says)
	g.settle(says, answers, now)
	return answers, nil
}

// isNamedBy reports whether the responder reference of a message is acceptable. If this side started the dialogue, the first reply sets
// the reference. Otherwise, the reference may be missing until this side has replied, because the sender does not know it before.
func (g *Dialogue) isNamedBy(m wire.Message) bool {
	if g.name.ours {
		return g.responderRef == "" || m.ResponderRef == g.responderRef
	}
	return m.ResponderRef == g.responderRef || m.ResponderRef == "" && len(g.ours) == 0
}

// check returns the performative of the message that the next message of a side replies to. The error wraps protocol.ErrDialogue if that
// side, which has sent the given number of messages, may not send this message.
func (g *Dialogue) check(says protocol.Performative, target int32, sent int) (protocol.Performative, error) {
	if g.hasEnded {
		return "", refuse("the dialogue has ended")
	}
	if sent >= g.in.limits.Messages {
		return "", refuse("the dialogue has too many messages")
	}
	side, at := g.theirs, int64(target)
	if (target > 0) == g.name.ours {
		side = g.ours
	}
	if at = max(at, -at); at == 0 || at > int64(len(side)) {
		return "", refuse("its target is not a message of the dialogue")
	}
	answers := side[at-1]
	if !g.name.protocol.Rules.Answers(says, answers) {
		return "", fmt.Errorf("%w: %s cannot reply to %s", protocol.ErrDialogue, says, answers)
	}
	return answers, nil
}

// settle records the effect of a received or sent message: whether it ends the dialogue, and which rank the dialogue now has.
func (g *Dialogue) settle(says, answers protocol.Performative, now time.Time) {
	to := halfOpen
	if g.named {
		to = open
	}
	if state, ends := g.name.protocol.Rules.End(says, answers); ends {
		g.hasEnded, g.state, to = true, state, ended
		g.theirs, g.ours = nil, nil
	}
	g.in.use(g, to, now)
}
