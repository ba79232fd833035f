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
	Starter      string // the address of the side that began
}

// A Dialogue is one conversation with one opponent.
type Dialogue struct {
	in   *Dialogues
	name name
	spec wire.PublicID // as received: the replies have the same

	// Guarded by in.mu, as all below.
	responderRef string
	theirs, ours []protocol.Performative // what each side has sent, in order
	named        bool                    // the opponent has named the reference made here
	hasEnded     bool
	state        protocol.EndState
	last         last

	rank       rank
	ofRank     *list.Element
	ofOpponent *list.Element
	used       time.Time
}

// The last received message, to recognize its repetition.
type last struct {
	id      int32
	digest  [sha256.Size]byte // of the whole message
	answers protocol.Performative
	answer  int32 // the id of the first message that replied to it; 0: none yet
}

// Protocol returns the protocol of the dialogue.
func (g *Dialogue) Protocol() *protocol.Protocol { return g.name.protocol }

// Label returns the label as far as it is known.
func (g *Dialogue) Label() Label {
	g.in.mu.Lock()
	defer g.in.mu.Unlock()
	l := Label{StarterRef: g.name.starterRef, ResponderRef: g.responderRef, Opponent: g.name.opponent, Starter: g.name.opponent}
	if g.name.ours {
		l.Starter = g.in.self
	}
	return l
}

// End returns how the dialogue has ended, and whether it has.
func (g *Dialogue) End() (protocol.EndState, bool) {
	g.in.mu.Lock()
	defer g.in.mu.Unlock()
	return g.state, g.hasEnded
}

// Reply replies to the message with the id target, and returns the envelope to send. The error is protocol.ErrDialogue if the protocol
// does not permit this content as a reply, or the dialogue has ended. A forgotten dialogue can be replied to as long as it is held.
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

// Again replies to a repeated message: by the id of its first reply, if it had one, because an opponent that did not get that accepts no
// later one. Errors are those of Reply.
func (g *Dialogue) Again(target int32, c protocol.Content) (wire.Envelope, error) {
	g.in.mu.Lock()
	defer g.in.mu.Unlock()
	if g.last.id != target || g.last.answer == 0 {
		return g.reply(target, c)
	}
	return g.envelope(g.last.answer, target, c)
}

// repeats reports whether a message is the last one that came, once more, and is answered again.
func (g *Dialogue) repeats(m wire.Message, says protocol.Performative, digest [sha256.Size]byte) bool {
	return !g.hasEnded && g.name.protocol.Rules.AnswersAgain(says) && g.last.id == m.ID && g.last.digest == digest
}

// envelope makes the envelope to send.
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

// receive accepts a further message of the opponent, and returns the performative that it replies to.
func (g *Dialogue) receive(m wire.Message, says protocol.Performative, now time.Time) (protocol.Performative, error) {
	if !g.isNamedBy(m) {
		return "", refuse("it names the dialogue by another reference")
	}
	next := int64(len(g.theirs) + 1)
	if g.name.ours {
		next = -next
	}
	if int64(m.ID) != next {
		return "", refuse("its id is not the next one")
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

// isNamedBy reports whether the message names the responder as it should. It may leave that out as long as its sender cannot know the
// name: before this side has replied, or before it has sent its own.
func (g *Dialogue) isNamedBy(m wire.Message) bool {
	if g.name.ours {
		return g.responderRef == "" || m.ResponderRef == g.responderRef
	}
	return m.ResponderRef == g.responderRef || m.ResponderRef == "" && len(g.ours) == 0
}

// check reports whether a message may be the next one of a side, and which message it replies to.
func (g *Dialogue) check(says protocol.Performative, target int32, sent int) (protocol.Performative, error) {
	if g.hasEnded {
		return "", refuse("the dialogue has ended")
	}
	if sent >= g.in.limits.Messages {
		return "", refuse("the dialogue is too long")
	}
	side, at := g.theirs, int64(target)
	if (target > 0) == g.name.ours {
		side = g.ours
	}
	if at = max(at, -at); at == 0 || at > int64(len(side)) {
		return "", refuse("it answers no message")
	}
	answers := side[at-1]
	if !g.name.protocol.Rules.Answers(says, answers) {
		return "", fmt.Errorf("%w: %s does not answer %s", protocol.ErrDialogue, says, answers)
	}
	return answers, nil
}

// settle records a received or sent message: whether it ends the dialogue, and which rank that has now.
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
