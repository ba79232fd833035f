// Package dialogue keeps track of the dialogues of one agent with other agents. It finds the dialogue of each message and checks whether
// the message is valid there. A message that violates its protocol is rejected, and changes nothing.
//
//	turn, err := dialogues.Receive(envelope) // protocol.CodeOf(err) is the code to reply with
//	answer, err := turn.Dialogue.Reply(turn.Message.ID, content)
//
// Anyone can begin dialogues under any number of names and never continue them. Therefore the number of dialogues is limited, in total and
// for each opponent, and a new dialogue displaces the one that has been idle longest. Dialogues whose opponent has not yet used our
// reference count separately: even a large number of them does not displace the dialogues of other opponents.
package dialogue

import (
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// Limits limit the stored dialogues. Each limit must be at least 1.
type Limits struct {
	Open        int           // dialogues whose opponent has used our reference
	HalfOpen    int           // dialogues whose opponent has not
	Ended       int           // ended dialogues of protocols that keep them
	PerOpponent int           // open and half-open dialogues with one opponent
	Messages    int           // messages of one side in one dialogue
	TTL         time.Duration // how long a dialogue is kept after its last message
}

// DefaultLimits are the limits of a gateway. A dialogue takes less than 1 KiB of memory, unless it has many messages.
var DefaultLimits = Limits{Open: 8192, HalfOpen: 8192, Ended: 8192, PerOpponent: 64, Messages: 256, TTL: 15 * time.Minute}

// Dialogues are the dialogues of one agent. The methods of Dialogues, and those of each Dialogue, may be called concurrently.
type Dialogues struct {
	self   string
	limits Limits
	now    func() time.Time

	mu        sync.Mutex
	byName    map[name]*Dialogue
	opponents map[string]*list.List // dialogues that have not ended; the longest idle first
	ranks     [3]list.List          // all dialogues, by rank; the longest idle first
	counts    Counts
}

// A name is the key of a dialogue. An opponent can choose only parts of it.
type name struct {
	protocol   *protocol.Protocol
	opponent   string
	starterRef string
	ours       bool // whether this side started it
}

// A rank is a class of dialogues. If there are too many dialogues of one rank, a new one displaces only a dialogue of the same rank.
type rank int

const (
	halfOpen rank = iota
	open
	ended
)

// Counts are the numbers of dialogues, for monitoring.
type Counts struct {
	HalfOpen  int    `json:"half_open"` // current number, like the next three
	Open      int    `json:"open"`
	Ended     int    `json:"ended"`
	Opponents int    `json:"opponents"` // opponents of dialogues that have not ended
	Displaced uint64 `json:"displaced"` // dialogues removed to make room for a new one
	Expired   uint64 `json:"expired"`   // dialogues that expired before they ended
}

// New returns an empty set of dialogues of the agent whose address is self.
func New(self string, limits Limits, now func() time.Time) *Dialogues {
	return &Dialogues{self: self, limits: limits, now: now, byName: map[name]*Dialogue{}, opponents: map[string]*list.List{}}
}

// Counts returns the current numbers of dialogues and the totals of displaced and expired ones.
func (d *Dialogues) Counts() Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire(d.now())
	c := d.counts
	c.HalfOpen, c.Open, c.Ended = d.ranks[halfOpen].Len(), d.ranks[open].Len(), d.ranks[ended].Len()
	c.Opponents = len(d.opponents)
	return c
}

// A Turn is a received message that is valid in its dialogue.
type Turn struct {
	Dialogue *Dialogue // nil for an error of the default protocol that belongs to no dialogue
	Message  wire.Message
	Content  protocol.Content
	// Answers is the performative of the message that this one replies to. It is empty if the message begins the dialogue.
	Answers protocol.Performative
	// Repeated means that the last message of the dialogue was received again. Reply to it with Dialogue.Again.
	Repeated bool
}

// Receive processes an envelope from an opponent to this agent. The error wraps wire.ErrUndecodable, protocol.ErrUnsupported or
// protocol.ErrDialogue. The connection must have verified the identity of the sender.
func (d *Dialogues) Receive(e wire.Envelope) (Turn, error) {
	p, err := protocol.Lookup(e.Protocol)
	if err != nil {
		return Turn{}, err
	}
	return d.ReceiveIn(p, e)
}

// ReceiveIn is like Receive for a message of the protocol p, which need not be one of package protocol.
func (d *Dialogues) ReceiveIn(p *protocol.Protocol, e wire.Envelope) (Turn, error) {
	m, err := wire.DecodeMessage(e.Message)
	if err != nil {
		return Turn{}, err
	}
	c, err := p.Decode(m.Content)
	if err != nil {
		return Turn{}, err
	}
	t := Turn{Message: m, Content: c}
	if e.To != d.self {
		return Turn{}, refuse("it is addressed to another agent")
	}
	if m.StarterRef == "" {
		if p != &protocol.Default || c.Kind() != protocol.DefaultError || m.ResponderRef != "" || m.ID != 1 || m.Target != 0 {
			return Turn{}, refuse("it does not name a dialogue")
		}
		return t, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	d.expire(now)
	n := name{protocol: p, opponent: e.Sender, starterRef: m.StarterRef, ours: m.ID < 0}
	var digest [sha256.Size]byte
	if p.Rules.AnswersAgain(c.Kind()) {
		digest = sha256.Sum256(e.Message)
	}
	t.Dialogue = d.byName[n]
	switch g := t.Dialogue; {
	case g != nil && g.repeats(m, c.Kind(), digest):
		t.Answers, t.Repeated = g.last.answers, true
		d.use(g, g.rank, now)
		return t, nil
	case m.ID == 1:
		t.Dialogue, err = d.begin(n, e.Protocol, m, c.Kind(), now)
	case g == nil:
		err = refuse("it names an unknown dialogue")
	default:
		t.Answers, err = g.receive(m, c.Kind(), now)
	}
	if err != nil {
		return Turn{}, err
	}
	t.Dialogue.last = last{id: m.ID, digest: digest, answers: t.Answers}
	return t, nil
}

// begin adds a dialogue that the opponent begins.
func (d *Dialogues) begin(n name, spec wire.PublicID, m wire.Message, says protocol.Performative, now time.Time) (*Dialogue, error) {
	switch {
	case d.byName[n] != nil:
		return nil, refuse("its dialogue has already begun")
	case m.ResponderRef != "" || m.Target != 0:
		return nil, refuse("it begins a dialogue and replies to a message")
	case !n.protocol.Rules.Begins(says):
		return nil, refuse("its performative cannot begin a dialogue")
	}
	g := d.add(&Dialogue{in: d, name: n, spec: spec, responderRef: newReference(), theirs: []protocol.Performative{says}}, now)
	g.settle(says, "", now)
	return g, nil
}

// Start begins a dialogue with an opponent, and returns the envelope to send. The error wraps protocol.ErrUnsupported,
// protocol.ErrDialogue or wire.ErrUnsendable.
func (d *Dialogues) Start(spec wire.PublicID, opponent string, c protocol.Content) (*Dialogue, wire.Envelope, error) {
	p, err := protocol.Lookup(spec)
	if err != nil {
		return nil, wire.Envelope{}, err
	}
	return d.StartIn(p, spec, opponent, c)
}

// StartIn is like Start for a message of the protocol p, which need not be one of package protocol. spec is one of its specification ids.
func (d *Dialogues) StartIn(
	p *protocol.Protocol, spec wire.PublicID, opponent string, c protocol.Content,
) (*Dialogue, wire.Envelope, error) {
	if !p.Rules.Begins(c.Kind()) {
		return nil, wire.Envelope{}, refuse("its performative cannot begin a dialogue")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	d.expire(now)
	g := &Dialogue{in: d, name: name{protocol: p, opponent: opponent, starterRef: newReference(), ours: true}, spec: spec}
	e, err := g.envelope(1, 0, c)
	if err != nil {
		return nil, wire.Envelope{}, err
	}
	g.ours = []protocol.Performative{c.Kind()}
	d.add(g, now).settle(c.Kind(), "", now)
	return g, e, nil
}

// newReference returns 32 random bytes in hexadecimal, the form of the references that agents create.
func newReference() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// refuse returns the error for an invalid message. why must not quote the message.
func refuse(why string) error { return fmt.Errorf("%w: %s", protocol.ErrDialogue, why) }
