package dialogue_test

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

var (
	fipaID    = protocol.FIPA.Specs[0]
	httpID    = protocol.HTTP.Specs[1] // the other author's id, which replies use too
	defaultID = protocol.Default.Specs[0]
)

// A clock is a clock that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newDialogues(self string, limits dialogue.Limits) (*dialogue.Dialogues, *clock) {
	c := &clock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	return dialogue.New(self, limits, c.now), c
}

func says(p protocol.Performative) protocol.FIPAMessage { return protocol.FIPAMessage{Performative: p} }

// envelope returns an envelope to the gateway with a message of fipa.
func envelope(t *testing.T, sender string, m wire.Message, c protocol.Content) wire.Envelope {
	t.Helper()
	return envelopeOf(t, fipaID, sender, m, c)
}

func envelopeOf(t *testing.T, spec wire.PublicID, sender string, m wire.Message, c protocol.Content) wire.Envelope {
	t.Helper()
	m.Content = c.Encode()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return wire.Envelope{To: "gw", Sender: sender, Protocol: spec, Message: data}
}

// receive passes on an envelope that the dialogues must accept.
func receive(t *testing.T, d *dialogue.Dialogues, e wire.Envelope) dialogue.Turn {
	t.Helper()
	turn, err := d.Receive(e)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// reply replies to a received message.
func reply(t *testing.T, turn dialogue.Turn, c protocol.Content) wire.Envelope {
	t.Helper()
	e, err := turn.Dialogue.Reply(turn.Message.ID, c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// message reads the message of an envelope.
func message(t *testing.T, e wire.Envelope) wire.Message {
	t.Helper()
	m, err := wire.DecodeMessage(e.Message)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The two sides complete the shortest negotiation by the rules.
func TestNegotiation(t *testing.T) {
	seller, _ := newDialogues("gw", dialogue.DefaultLimits)
	buyer, _ := newDialogues("me", dialogue.DefaultLimits)
	started, e, err := buyer.Start(fipaID, "gw", protocol.FIPAMessage{Performative: protocol.FIPACFP, Query: search.Query{}})
	if err != nil {
		t.Fatal(err)
	}
	sides := []*dialogue.Dialogues{seller, buyer}
	var ids [][2]int32
	var turn dialogue.Turn
	for i, p := range []protocol.Performative{
		protocol.FIPAPropose, protocol.FIPAAcceptWInform, protocol.FIPAMatchAcceptWInform, protocol.FIPAEnd,
	} {
		turn = receive(t, sides[i%2], e)
		ids = append(ids, [2]int32{turn.Message.ID, turn.Message.Target})
		e = reply(t, turn, says(p))
	}
	turn = receive(t, seller, e)
	ids = append(ids, [2]int32{turn.Message.ID, turn.Message.Target})
	if diff := cmp.Diff([][2]int32{{1, 0}, {-1, 1}, {2, -1}, {-2, 2}, {3, -2}}, ids); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	for name, g := range map[string]*dialogue.Dialogue{"buyer": started, "seller": turn.Dialogue} {
		if state, ended := g.End(); state != protocol.Successful || !ended {
			t.Errorf("%s: %s, %v; want %v, true", name, state, ended, protocol.Successful)
		}
	}
	theirs, ours := started.Label(), turn.Dialogue.Label()
	if theirs.Opponent != "gw" || ours.Opponent != "me" || theirs.Starter != "me" || ours.Starter != "me" ||
		theirs.StarterRef != ours.StarterRef || theirs.ResponderRef != ours.ResponderRef {
		t.Errorf("got %+v, %+v", theirs, ours)
	}
	for _, ref := range []string{ours.StarterRef, ours.ResponderRef} {
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(ref) {
			t.Errorf("reference %q", ref)
		}
	}
	if turn.Answers != protocol.FIPAMatchAcceptWInform || turn.Dialogue.Protocol() != &protocol.FIPA {
		t.Error(turn.Answers)
	}
}

// A plain buyer sends a match without a token, then its signature, then the token.
func TestNegotiationInTwoSteps(t *testing.T) {
	seller, _ := newDialogues("gw", dialogue.DefaultLimits)
	buyer, _ := newDialogues("me", dialogue.DefaultLimits)
	_, e, err := buyer.Start(fipaID, "gw", says(protocol.FIPACFP))
	if err != nil {
		t.Fatal(err)
	}
	sides := []*dialogue.Dialogues{seller, buyer}
	for i, p := range []protocol.Performative{
		protocol.FIPAPropose, protocol.FIPAPropose, protocol.FIPAPropose, protocol.FIPAAccept, protocol.FIPAMatchAcceptWInform,
		protocol.FIPAInform, protocol.FIPAInform, protocol.FIPAInform, protocol.FIPAInform, protocol.FIPAEnd,
	} {
		e = reply(t, receive(t, sides[i%2], e), says(p))
	}
	// A buyer may reply to its own message.
	_, e, _ = buyer.Start(fipaID, "gw", says(protocol.FIPACFP))
	turn := receive(t, buyer, reply(t, receive(t, seller, e), says(protocol.FIPAPropose)))
	turn = receive(t, seller, reply(t, turn, says(protocol.FIPAAccept)))
	if matched := message(t, reply(t, turn, says(protocol.FIPAMatchAccept))); matched.ID != -2 {
		t.Fatalf("got %v, want %v", matched.ID, -2)
	}
	if own, err := turn.Dialogue.Reply(-2, says(protocol.FIPAInform)); err != nil || message(t, own).ID != -3 {
		t.Errorf("got %+v, %v", own, err)
	}
}

// A message that breaks a rule is refused, and the right message is still accepted afterwards.
func TestMessagesOutOfOrder(t *testing.T) {
	accept := func(m *wire.Message) protocol.Content { m.ID, m.Target = 2, -1; return says(protocol.FIPAAccept) }
	for name, change := range map[string]func(m *wire.Message) protocol.Content{
		"a gap in the ids":        func(m *wire.Message) protocol.Content { accept(m); m.ID = 3; return says(protocol.FIPAAccept) },
		"a used id":               func(m *wire.Message) protocol.Content { accept(m); m.ID = 1; return says(protocol.FIPAAccept) },
		"the first message again": func(m *wire.Message) protocol.Content { m.ID, m.ResponderRef = 1, ""; return says(protocol.FIPACFP) },
		"the id 0":                func(m *wire.Message) protocol.Content { accept(m); m.ID = 0; return says(protocol.FIPAAccept) },
		"an id of the other side": func(m *wire.Message) protocol.Content { accept(m); m.ID = -2; return says(protocol.FIPAAccept) },
		"the smallest id": func(m *wire.Message) protocol.Content {
			accept(m)
			m.ID = math.MinInt32
			return says(protocol.FIPAAccept)
		},
		"no target":        func(m *wire.Message) protocol.Content { accept(m); m.Target = 0; return says(protocol.FIPAAccept) },
		"a later target":   func(m *wire.Message) protocol.Content { accept(m); m.Target = -2; return says(protocol.FIPAAccept) },
		"itself as target": func(m *wire.Message) protocol.Content { accept(m); m.Target = 2; return says(protocol.FIPAAccept) },
		"the smallest target": func(m *wire.Message) protocol.Content {
			accept(m)
			m.Target = math.MinInt32
			return says(protocol.FIPAAccept)
		},
		"the largest target": func(m *wire.Message) protocol.Content {
			accept(m)
			m.Target = math.MaxInt32
			return says(protocol.FIPAAccept)
		},
		"no reply to a propose": func(m *wire.Message) protocol.Content { accept(m); return says(protocol.FIPAMatchAccept) },
		"reply to itself":       func(m *wire.Message) protocol.Content { accept(m); m.Target = 1; return says(protocol.FIPAAccept) },
		"first message again":   func(m *wire.Message) protocol.Content { accept(m); return says(protocol.FIPACFP) },
		"another reference of ours": func(m *wire.Message) protocol.Content {
			accept(m)
			m.ResponderRef = strings.Repeat("0", 64)
			return says(protocol.FIPAAccept)
		},
		"no reference of ours": func(m *wire.Message) protocol.Content {
			accept(m)
			m.ResponderRef = ""
			return says(protocol.FIPAAccept)
		},
		"another reference of its own": func(m *wire.Message) protocol.Content {
			accept(m)
			m.StarterRef = "other"
			return says(protocol.FIPAAccept)
		},
		"no references": func(m *wire.Message) protocol.Content {
			accept(m)
			m.StarterRef, m.ResponderRef = "", ""
			return says(protocol.FIPAAccept)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newDialogues("gw", dialogue.DefaultLimits)
			first := wire.Message{ID: 1, StarterRef: "a1"}
			proposed := message(t, reply(t, receive(t, d, envelope(t, "me", first, says(protocol.FIPACFP))), says(protocol.FIPAPropose)))
			m := wire.Message{StarterRef: "a1", ResponderRef: proposed.ResponderRef}
			wrong := change(&m)
			if turn, err := d.Receive(envelope(t, "me", m, wrong)); !errors.Is(err, protocol.ErrDialogue) || turn.Dialogue != nil {
				t.Fatalf("got %+v, %v; want %v and Dialogue nil", turn, err, protocol.ErrDialogue)
			}
			good := wire.Message{StarterRef: "a1", ResponderRef: proposed.ResponderRef}
			content := accept(&good)
			if _, err := d.Receive(envelope(t, "other", good, content)); !errors.Is(err, protocol.ErrDialogue) {
				t.Errorf("from another agent: %v, want %v", err, protocol.ErrDialogue)
			}
			if turn := receive(t, d, envelope(t, "me", good, content)); turn.Answers != protocol.FIPAPropose {
				t.Errorf("got %v, want %v", turn.Answers, protocol.FIPAPropose)
			}
		})
	}
}

func TestBeginErrors(t *testing.T) {
	for name, row := range map[string]struct {
		message wire.Message
		content protocol.Content
	}{
		"no reference":                {wire.Message{ID: 1}, says(protocol.FIPACFP)},
		"a reference of ours":         {wire.Message{ID: 1, StarterRef: "a1", ResponderRef: "b1"}, says(protocol.FIPACFP)},
		"only a reference of ours":    {wire.Message{ID: 1, ResponderRef: "b1"}, says(protocol.FIPACFP)},
		"a target":                    {wire.Message{ID: 1, StarterRef: "a1", Target: 1}, says(protocol.FIPACFP)},
		"the second id":               {wire.Message{ID: 2, StarterRef: "a1"}, says(protocol.FIPACFP)},
		"a responder's id":            {wire.Message{ID: -1, StarterRef: "a1", Target: 1}, says(protocol.FIPAPropose)},
		"a message that is a reply":   {wire.Message{ID: 1, StarterRef: "a1"}, says(protocol.FIPAAccept)},
		"a message that only ends":    {wire.Message{ID: 1, StarterRef: "a1"}, says(protocol.FIPAEnd)},
		"an inform without a message": {wire.Message{ID: 1, StarterRef: "a1"}, says(protocol.FIPAInform)},
	} {
		d, _ := newDialogues("gw", dialogue.DefaultLimits)
		if _, err := d.Receive(envelope(t, "me", row.message, row.content)); !errors.Is(err, protocol.ErrDialogue) {
			t.Errorf("%s: %v, want %v", name, err, protocol.ErrDialogue)
		}
		if c := d.Counts(); c != (dialogue.Counts{}) {
			t.Errorf("%s: got %+v; want %+v", name, c, dialogue.Counts{})
		}
	}
}

func TestReceiveErrors(t *testing.T) {
	d, _ := newDialogues("gw", dialogue.DefaultLimits)
	good := envelope(t, "me", wire.Message{ID: 1, StarterRef: "a1"}, says(protocol.FIPACFP))
	for name, row := range map[string]struct {
		change func(*wire.Envelope)
		want   error
	}{
		"for another agent":          {func(e *wire.Envelope) { e.To = "other" }, protocol.ErrDialogue},
		"of an unknown protocol":     {func(e *wire.Envelope) { e.Protocol.Version = "1.1.7" }, protocol.ErrUnsupported},
		"of another protocol":        {func(e *wire.Envelope) { e.Protocol = httpID }, wire.ErrUndecodable},
		"without message":            {func(e *wire.Envelope) { e.Message = nil }, wire.ErrUndecodable},
		"with part of a message":     {func(e *wire.Envelope) { e.Message = e.Message[:len(e.Message)-1] }, wire.ErrUndecodable},
		"with bytes around messages": {func(e *wire.Envelope) { e.Message = []byte("\xff\xff") }, wire.ErrUndecodable},
	} {
		e := good
		row.change(&e)
		if _, err := d.Receive(e); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
	receive(t, d, good)
}

// An error may arrive outside a dialogue. Every other message must belong to one.
func TestErrorsOutsideDialogues(t *testing.T) {
	d, _ := newDialogues("gw", dialogue.DefaultLimits)
	e := wire.Envelope{To: "gw", Sender: "me", Protocol: defaultID}
	e.Message, _ = protocol.ErrorMessage(protocol.ErrDialogue, wire.Envelope{}).Encode()
	turn := receive(t, d, e)
	c, ok := turn.Content.(protocol.DefaultMessage)
	if turn.Dialogue != nil || !ok || c.Code != protocol.CodeInvalidDialogue {
		t.Errorf("got %+v", turn)
	}
	fault := protocol.DefaultMessage{Performative: protocol.DefaultError}
	for name, m := range map[string]wire.Message{
		"with a target": {ID: 1, Target: 1}, "as a second message": {ID: 2}, "with a reference of ours": {ID: 1, ResponderRef: "b1"},
	} {
		if _, err := d.Receive(envelopeOf(t, defaultID, "me", m, fault)); !errors.Is(err, protocol.ErrDialogue) {
			t.Errorf("%s: %v, want %v", name, err, protocol.ErrDialogue)
		}
	}
	bytes := protocol.DefaultMessage{Performative: protocol.DefaultBytes}
	if _, err := d.Receive(envelopeOf(t, defaultID, "me", wire.Message{ID: 1}, bytes)); !errors.Is(err, protocol.ErrDialogue) {
		t.Errorf("bytes: %v, want %v", err, protocol.ErrDialogue)
	}
	// An error that begins a dialogue ends it, and gets no reply.
	turn = receive(t, d, envelopeOf(t, defaultID, "me", wire.Message{ID: 1, StarterRef: "a1"}, fault))
	if state, ended := turn.Dialogue.End(); state != protocol.Failed || !ended {
		t.Errorf("got %v, %v; want %v, true", state, ended, protocol.Failed)
	}
	if _, err := turn.Dialogue.Reply(1, bytes); !errors.Is(err, protocol.ErrDialogue) {
		t.Errorf("got %v, want %v", err, protocol.ErrDialogue)
	}
}

// An ended dialogue accepts no message on either side. Its label cannot be used again in protocols that keep ended dialogues.
func TestEndedDialogue(t *testing.T) {
	d, _ := newDialogues("gw", dialogue.DefaultLimits)
	cfp := envelope(t, "me", wire.Message{ID: 1, StarterRef: "a1"}, says(protocol.FIPACFP))
	turn := receive(t, d, cfp)
	declined := message(t, reply(t, turn, says(protocol.FIPADecline)))
	if state, ended := turn.Dialogue.End(); state != protocol.DeclinedCFP || !ended {
		t.Errorf("got %v, %v; want %v, true", state, ended, protocol.DeclinedCFP)
	}
	if _, err := turn.Dialogue.Reply(1, says(protocol.FIPAPropose)); !errors.Is(err, protocol.ErrDialogue) {
		t.Errorf("a reply: %v, want %v", err, protocol.ErrDialogue)
	}
	late := wire.Message{ID: 2, StarterRef: "a1", ResponderRef: declined.ResponderRef, Target: -1}
	if _, err := d.Receive(envelope(t, "me", late, says(protocol.FIPAAccept))); !errors.Is(err, protocol.ErrDialogue) {
		t.Errorf("a message: %v, want %v", err, protocol.ErrDialogue)
	}
	if _, err := d.Receive(cfp); !errors.Is(err, protocol.ErrDialogue) {
		t.Errorf("the beginning again: %v, want %v", err, protocol.ErrDialogue)
	}
	request := protocol.HTTPMessage{Performative: protocol.HTTPRequest, Method: "GET", URL: "/"}
	for range 2 {
		turn := receive(t, d, envelopeOf(t, httpID, "me", wire.Message{ID: 1, StarterRef: "a1"}, request))
		if e := reply(t, turn, protocol.HTTPMessage{Performative: protocol.HTTPResponse, Status: 200}); e.Protocol != httpID {
			t.Errorf("the reply uses %v, want %v", e.Protocol, httpID)
		}
	}
	if c := d.Counts(); c != (dialogue.Counts{Ended: 1}) {
		t.Errorf("got %+v, want %+v", c, dialogue.Counts{Ended: 1})
	}
}

// The responder may leave out its reference until it has sent it once, and must not change it afterwards.
func TestResponderReference(t *testing.T) {
	d, _ := newDialogues("gw", dialogue.DefaultLimits)
	bytes := protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: []byte("x")}
	g, e, err := d.Start(defaultID, "me", bytes)
	if err != nil {
		t.Fatal(err)
	}
	ours := message(t, e).StarterRef
	for i, step := range []struct {
		ref string
		ok  bool
	}{{"", true}, {"b1", true}, {"", false}, {"b2", false}, {"b1", true}} {
		id := int32(-3)
		if i < 3 {
			id = -int32(i + 1)
		}
		m := wire.Message{ID: id, StarterRef: ours, ResponderRef: step.ref, Target: 1}
		if _, err := d.Receive(envelopeOf(t, defaultID, "me", m, bytes)); (err == nil) != step.ok {
			t.Errorf("%d: %v", i, err)
		}
	}
	if l := g.Label(); l != (dialogue.Label{StarterRef: ours, ResponderRef: "b1", Opponent: "me", Starter: "gw"}) {
		t.Errorf("got %+v, want %+v", l, dialogue.Label{StarterRef: ours, ResponderRef: "b1", Opponent: "me", Starter: "gw"})
	}
	if _, _, err := d.Start(fipaID, "me", says(protocol.FIPAAccept)); !errors.Is(err, protocol.ErrDialogue) {
		t.Errorf("an accept begins: %v, want %v", err, protocol.ErrDialogue)
	}
	if _, _, err := d.Start(fipaID, "", says(protocol.FIPACFP)); !errors.Is(err, wire.ErrUnsendable) {
		t.Errorf("an empty opponent: %v, want %v", err, wire.ErrUnsendable)
	}
	if _, _, err := d.Start(wire.PublicID{}, "me", bytes); !errors.Is(err, protocol.ErrUnsupported) {
		t.Errorf("no protocol: %v, want %v", err, protocol.ErrUnsupported)
	}
}
