package dialogue_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// few has limits low enough for tests to reach.
var few = dialogue.Limits{Open: 3, HalfOpen: 4, Ended: 2, PerOpponent: 2, Messages: 3, TTL: time.Minute}

// begin begins a negotiation as an agent, and returns its turn and the proposal.
func begin(t *testing.T, d *dialogue.Dialogues, sender, ref string) (dialogue.Turn, wire.Message) {
	t.Helper()
	turn := receive(t, d, envelope(t, sender, wire.Message{ID: 1, StarterRef: ref}, says(protocol.FIPACFP)))
	return turn, message(t, reply(t, turn, says(protocol.FIPAPropose)))
}

// goOn accepts a proposal as the agent that began the negotiation.
func goOn(t *testing.T, d *dialogue.Dialogues, sender string, proposed wire.Message) (dialogue.Turn, error) {
	t.Helper()
	m := wire.Message{ID: 2, StarterRef: proposed.StarterRef, ResponderRef: proposed.ResponderRef, Target: -1}
	return d.Receive(envelope(t, sender, m, says(protocol.FIPAAccept)))
}

// Dialogues that begin and never continue do not displace a dialogue that continues, and the state stays bounded.
func TestManyNewDialogues(t *testing.T) {
	limits := few
	limits.HalfOpen, limits.Open = 100, 100
	d, _ := newDialogues("gw", limits)
	_, proposed := begin(t, d, "honest", "a1")
	turn, err := goOn(t, d, "honest", proposed)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		begin(t, d, fmt.Sprintf("flood%d", i), "a1")
	}
	if c := d.Counts(); c != (dialogue.Counts{HalfOpen: 100, Open: 1, Opponents: 101, Displaced: 4900}) {
		t.Errorf("got %+v, want %+v", c, dialogue.Counts{HalfOpen: 100, Open: 1, Opponents: 101, Displaced: 4900})
	}
	reply(t, turn, says(protocol.FIPAMatchAcceptWInform))
	end := wire.Message{ID: 3, StarterRef: "a1", ResponderRef: proposed.ResponderRef, Target: -2}
	receive(t, d, envelope(t, "honest", end, says(protocol.FIPAEnd)))
}

// A second message without the responder's reference leaves the dialogue half open, because its sender may never have received a reply.
func TestDialogueStaysHalfOpen(t *testing.T) {
	d, _ := newDialogues("gw", few)
	bytes := protocol.DefaultMessage{Performative: protocol.DefaultBytes}
	receive(t, d, envelopeOf(t, defaultID, "me", wire.Message{ID: 1, StarterRef: "a1"}, bytes))
	receive(t, d, envelopeOf(t, defaultID, "me", wire.Message{ID: 2, StarterRef: "a1", Target: 1}, bytes))
	if c := d.Counts(); c.HalfOpen != 1 || c.Open != 0 {
		t.Errorf("got %+v; want HalfOpen 1 and Open 0", c)
	}
}

func TestOpponentLimit(t *testing.T) {
	d, _ := newDialogues("gw", few)
	_, first := begin(t, d, "me", "a1")
	_, second := begin(t, d, "me", "a2")
	_, third := begin(t, d, "me", "a3")
	if _, err := goOn(t, d, "me", first); !errors.Is(err, protocol.ErrDialogue) {
		t.Errorf("the dialogue that was idle longest: %v, want %v", err, protocol.ErrDialogue)
	}
	for _, proposed := range []wire.Message{second, third} {
		if _, err := goOn(t, d, "me", proposed); err != nil {
			t.Errorf("a later dialogue: %v", err)
		}
	}
	if c := d.Counts(); c.Open != 2 || c.Displaced != 1 {
		t.Errorf("got %+v; want Open 2 and Displaced 1", c)
	}
}

// A new dialogue displaces the one that was idle longest, which need not be the one that began first.
func TestUsedDialogueIsKept(t *testing.T) {
	d, _ := newDialogues("gw", few)
	_, first := begin(t, d, "me", "a1")
	_, second := begin(t, d, "me", "a2")
	turn, err := goOn(t, d, "me", first)
	if err != nil {
		t.Fatal(err)
	}
	begin(t, d, "me", "a3")
	if _, err := goOn(t, d, "me", second); !errors.Is(err, protocol.ErrDialogue) {
		t.Errorf("the dialogue that was idle longest: %v, want %v", err, protocol.ErrDialogue)
	}
	reply(t, turn, says(protocol.FIPAMatchAccept))
	end := wire.Message{ID: 3, StarterRef: "a1", ResponderRef: first.ResponderRef, Target: -2}
	receive(t, d, envelope(t, "me", end, says(protocol.FIPAEnd)))
}

func TestOpponentLimitOfOne(t *testing.T) {
	limits := few
	limits.PerOpponent = 1
	d, _ := newDialogues("gw", limits)
	begin(t, d, "me", "a1")
	_, second := begin(t, d, "me", "a2")
	if _, err := goOn(t, d, "me", second); err != nil {
		t.Error(err)
	}
}

// Open dialogues displace open dialogues, and ended dialogues displace ended ones.
func TestOpenAndEndedLimits(t *testing.T) {
	d, _ := newDialogues("gw", few)
	var turns []dialogue.Turn
	for i := range few.Open + 1 {
		_, proposed := begin(t, d, fmt.Sprint("agent", i), "a1")
		turn, err := goOn(t, d, fmt.Sprint("agent", i), proposed)
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, turn)
	}
	if c := d.Counts(); c.Open != few.Open || c.HalfOpen != 0 || c.Displaced != 1 {
		t.Errorf("got %+v; want Open %v, HalfOpen 0 and Displaced 1", c, few.Open)
	}
	reply(t, turns[0], says(protocol.FIPAMatchAccept)) // displaced, but a reply is still possible
	if c := d.Counts(); c != (dialogue.Counts{Open: few.Open, Opponents: few.Open, Displaced: 1}) {
		t.Errorf("got %+v, want %+v", c, dialogue.Counts{Open: few.Open, Opponents: few.Open, Displaced: 1})
	}
	for _, turn := range turns {
		reply(t, turn, says(protocol.FIPADecline))
		if state, ended := turn.Dialogue.End(); state != protocol.DeclinedAccept || !ended {
			t.Errorf("got %v, %v; want %v, true", state, ended, protocol.DeclinedAccept)
		}
	}
	if c := d.Counts(); c != (dialogue.Counts{Ended: few.Ended, Displaced: 1}) {
		t.Errorf("got %+v, want %+v", c, dialogue.Counts{Ended: few.Ended, Displaced: 1})
	}
}

func TestDialoguesExpire(t *testing.T) {
	d, clock := newDialogues("gw", few)
	turn, _ := begin(t, d, "me", "a1")
	_, proposed := begin(t, d, "other", "a1")
	clock.at = clock.at.Add(few.TTL - time.Second)
	if _, err := goOn(t, d, "other", proposed); err != nil {
		t.Fatal(err)
	}
	clock.at = clock.at.Add(time.Second)
	if c := d.Counts(); c.HalfOpen != 0 || c.Open != 1 || c.Expired != 1 {
		t.Errorf("got %+v; want HalfOpen 0, Open 1 and Expired 1", c)
	}
	late := wire.Message{ID: 2, StarterRef: "a1", ResponderRef: turn.Dialogue.Label().ResponderRef, Target: -1}
	if _, err := d.Receive(envelope(t, "me", late, says(protocol.FIPAAccept))); !errors.Is(err, protocol.ErrDialogue) {
		t.Errorf("got %v, want %v", err, protocol.ErrDialogue)
	}
	clock.at = clock.at.Add(few.TTL)
	if c := d.Counts(); c != (dialogue.Counts{Expired: 2}) {
		t.Errorf("got %+v, want %+v", c, dialogue.Counts{Expired: 2})
	}
}

func TestLongDialogue(t *testing.T) {
	d, _ := newDialogues("gw", few)
	bytes := protocol.DefaultMessage{Performative: protocol.DefaultBytes}
	m := wire.Message{ID: 1, StarterRef: "a1"}
	for range few.Messages {
		turn := receive(t, d, envelopeOf(t, defaultID, "me", m, bytes))
		answer := message(t, reply(t, turn, bytes))
		m.ID, m.ResponderRef, m.Target = m.ID+1, answer.ResponderRef, answer.ID
	}
	if _, err := d.Receive(envelopeOf(t, defaultID, "me", m, bytes)); !errors.Is(err, protocol.ErrDialogue) {
		t.Errorf("got %v, want %v", err, protocol.ErrDialogue)
	}
}

// Many agents negotiate at the same time.
func TestDialoguesConcurrently(t *testing.T) {
	d := dialogue.New("gw", dialogue.DefaultLimits, time.Now)
	var all sync.WaitGroup
	for i := range 64 {
		agent := fmt.Sprint("agent", i)
		all.Go(func() {
			buyer := dialogue.New(agent, dialogue.DefaultLimits, time.Now)
			_, e, err := buyer.Start(fipaID, "gw", says(protocol.FIPACFP))
			sides := []*dialogue.Dialogues{d, buyer}
			for i, p := range []protocol.Performative{
				protocol.FIPAPropose, protocol.FIPAAccept, protocol.FIPAMatchAccept, protocol.FIPAInform, protocol.FIPAEnd,
			} {
				var turn dialogue.Turn
				if err == nil {
					turn, err = sides[i%2].Receive(e)
				}
				if err == nil {
					e, err = turn.Dialogue.Reply(turn.Message.ID, says(p))
				}
			}
			if err != nil {
				t.Errorf("%s: %v", agent, err)
			}
			d.Counts()
		})
	}
	all.Wait()
	if c := d.Counts(); c != (dialogue.Counts{Ended: 64}) {
		t.Errorf("got %+v, want %+v", c, dialogue.Counts{Ended: 64})
	}
}
