// Package dialogue holds the dialogues of one agent with others: which message belongs to which, and whether it is valid there. A message
// that violates its protocol is refused, and changes nothing.
//
//	turn, err := dialogues.Receive(envelope) // err: protocol.CodeOf has the code to reply with
//	answer, err := turn.Dialogue.Reply(turn.Message.ID, content)
//
// Anyone can begin dialogues and never continue them, under names that cost nothing. Therefore their number is bounded, in total and for
// each opponent, and the one that was idle longest is removed for a new one. Dialogues whose opponent has never named the reference that
// was made here are separate: in any number, they displace no other.
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

// Limits bound the kept dialogues. Each is at least 1.
type Limits struct {
	Open        int           // dialogues whose opponent has named the reference made here
	HalfOpen    int           // all others
	Ended       int           // dialogues that have ended, of protocols that keep them
	PerOpponent int           // of the first two, with one opponent
	Messages    int           // of one side in one dialogue
	TTL         time.Duration // since the last message
}

// DefaultLimits are the limits of a gateway. A dialogue takes less than 1 KiB, unless it is long.
var DefaultLimits = Limits{Open: 8192, HalfOpen: 8192, Ended: 8192, PerOpponent: 64, Messages: 256, TTL: 15 * time.Minute}

// Dialogues are those of one agent. Its methods, and those of each Dialogue, may be called concurrently.
type Dialogues struct {
	self   string
	limits Limits
	now    func() time.Time

	mu        sync.Mutex
	byName    map[name]*Dialogue
	opponents map[string]*list.List // of those that have not ended, the longest idle first
	ranks     [3]list.List          // all, by rank, the longest idle first
	counts    Counts
}

// A name is the key of a dialogue. Its opponent cannot choose all of it.
type name struct {
	protocol   *protocol.Protocol
	opponent   string
	starterRef string
	ours       bool // started here
}

// A rank determines what a dialogue may displace: only one of its own rank.
type rank int

const (
	halfOpen rank = iota
	open
	ended
)

// Counts are for monitoring.
type Counts struct {
	HalfOpen  int    `json:"half_open"` // now, as the three below
	Open      int    `json:"open"`
	Ended     int    `json:"ended"`
	Opponents int    `json:"opponents"` // opponents of dialogues that have not ended
	Displaced uint64 `json:"displaced"` // removed for a new one, before they expired
	Expired   uint64 `json:"expired"`   // expired without having ended
}

// New returns the dialogues of the agent whose address is self: none yet.
func New(self string, limits Limits, now func() time.Time) *Dialogues {
	return &Dialogues{self: self, limits: limits, now: now, byName: map[name]*Dialogue{}, opponents: map[string]*list.List{}}
}

// Counts returns how many dialogues there are and were.
func (d *Dialogues) Counts() Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire(d.now())
	c := d.counts
	c.HalfOpen, c.Open, c.Ended = d.ranks[halfOpen].Len(), d.ranks[open].Len(), d.ranks[ended].Len()
	c.Opponents = len(d.opponents)
	return c
}

// A Turn is a received message that is valid now.
type Turn struct {
	Dialogue *Dialogue // nil: an error of the protocol default outside of dialogues
	Message  wire.Message
	Content  protocol.Content
	// Answers is the performative of the message that this one replies to; empty: it begins the dialogue.
	Answers protocol.Performative
	// Repeated: the last message of the dialogue was received again. Reply by Dialogue.Again.
	Repeated bool
}

// Receive processes an envelope for this agent from an opponent. Errors are wire.ErrUndecodable, protocol.ErrUnsupported and
// protocol.ErrDialogue. The connection must verify the identity of the opponent.
func (d *Dialogues) Receive(e wire.Envelope) (Turn, error) {
	p, err := protocol.Lookup(e.Protocol)
	if err != nil {
		return Turn{}, err
	}
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
		return Turn{}, refuse("it is for another agent")
	}
	if m.StarterRef == "" {
		if p != &protocol.Default || c.Kind() != protocol.DefaultError || m.ResponderRef != "" || m.ID != 1 || m.Target != 0 {
			return Turn{}, refuse("it names no dialogue")
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
		err = refuse("it names no dialogue that is open here")
	default:
		t.Answers, err = g.receive(m, c.Kind(), now)
	}
	if err != nil {
		return Turn{}, err
	}
	t.Dialogue.last = last{id: m.ID, digest: digest, answers: t.Answers}
	return t, nil
}

// begin opens a dialogue that an opponent begins.
func (d *Dialogues) begin(n name, spec wire.PublicID, m wire.Message, says protocol.Performative, now time.Time) (*Dialogue, error) {
	switch {
	case d.byName[n] != nil:
		return nil, refuse("it begins what was begun before")
	case m.ResponderRef != "" || m.Target != 0:
		return nil, refuse("it begins and answers")
	case !n.protocol.Rules.Begins(says):
		return nil, refuse("it cannot begin a dialogue")
	}
	g := d.add(&Dialogue{in: d, name: n, spec: spec, responderRef: newReference(), theirs: []protocol.Performative{says}}, now)
	g.settle(says, "", now)
	return g, nil
}

// Start begins a dialogue with an opponent, and returns the envelope to send. An error is protocol.ErrUnsupported,
// protocol.ErrDialogue or wire.ErrUnsendable.
func (d *Dialogues) Start(spec wire.PublicID, opponent string, c protocol.Content) (*Dialogue, wire.Envelope, error) {
	p, err := protocol.Lookup(spec)
	if err != nil {
		return nil, wire.Envelope{}, err
	}
	if !p.Rules.Begins(c.Kind()) {
		return nil, wire.Envelope{}, refuse("it cannot begin a dialogue")
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

// newReference returns 32 random bytes in hexadecimal, the form of agents' references.
func newReference() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// refuse returns the error of an invalid message. why is our own text.
func refuse(why string) error { return fmt.Errorf("%w: %s", protocol.ErrDialogue, why) }
