package dialogue_test

import (
	"bytes"
	"errors"
	"testing"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// If the last message of a dialogue arrives again, its protocol may send the same reply again, under the same id. A repeated message in
// any other place breaks the rules.
func TestRepeatedLastMessage(t *testing.T) {
	t.Parallel()
	d, _ := newDialogues("gw", dialogue.DefaultLimits)
	say := func(s string) protocol.DefaultMessage {
		return protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: []byte(s)}
	}
	first := envelopeOf(t, defaultID, "me", wire.Message{ID: 1, StarterRef: "a1"}, say("call"))
	turn := receive(t, d, first)
	if early := receive(t, d, first); !early.Repeated { // before the reply
		t.Errorf("got %+v", early)
	}
	answer := reply(t, turn, say("output"))
	ref := message(t, answer).ResponderRef
	for range 2 {
		again := receive(t, d, first)
		if !again.Repeated || again.Dialogue != turn.Dialogue {
			t.Fatalf("got %+v", again)
		}
		e, err := again.Dialogue.Again(1, say("output"))
		if err != nil || !bytes.Equal(e.Message, answer.Message) {
			t.Errorf("%q, %v; want %q", e.Message, err, answer.Message)
		}
	}
	second := envelopeOf(t, defaultID, "me", wire.Message{ID: 2, StarterRef: "a1", ResponderRef: ref, Target: -1}, say("call"))
	if m := message(t, reply(t, receive(t, d, second), say("output"))); m.ID != -2 {
		t.Errorf("got %+v, want ID %v", m, -2)
	}
	if again := receive(t, d, second); !again.Repeated || again.Answers != protocol.DefaultBytes {
		t.Errorf("got %+v", again)
	}
	for name, e := range map[string]wire.Envelope{
		"an earlier message":     first,
		"with another content":   envelopeOf(t, defaultID, "me", wire.Message{ID: 2, StarterRef: "a1", ResponderRef: ref, Target: -1}, say("more")),
		"another beginning":      envelopeOf(t, defaultID, "me", wire.Message{ID: 1, StarterRef: "a1"}, say("more")),
		"with another reference": envelopeOf(t, defaultID, "me", wire.Message{ID: 2, StarterRef: "a1", ResponderRef: "b", Target: -1}, say("call")),
	} {
		if _, err := d.Receive(e); !errors.Is(err, protocol.ErrDialogue) {
			t.Errorf("%s: %v, want %v", name, err, protocol.ErrDialogue)
		}
	}
	end := envelopeOf(t, defaultID, "me", wire.Message{ID: 3, StarterRef: "a1", ResponderRef: ref, Target: -2},
		protocol.DefaultMessage{Performative: protocol.DefaultEnd})
	receive(t, d, end)
	for name, e := range map[string]wire.Envelope{"an end": end, "the message before the end": second} {
		if _, err := d.Receive(e); !errors.Is(err, protocol.ErrDialogue) {
			t.Errorf("%s: %v, want %v", name, err, protocol.ErrDialogue)
		}
	}
}
