package dialogue_test

import (
	"testing"

	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// FuzzReceive checks that the bounds hold for any messages in any order, and that the dialogues accept a message again only as a
// repetition.
func FuzzReceive(f *testing.F) {
	for _, data := range aeavectors.Vectors(f, "../testdata/vectors.txt", "message/") {
		f.Add(data, data, uint8(0))
		f.Add(data, data, uint8(1))
		f.Add(data, data, uint8(2))
	}
	specs := []wire.PublicID{protocol.FIPA.Specs[0], protocol.Default.Specs[0], protocol.HTTP.Specs[0]}
	f.Fuzz(func(t *testing.T, one, two []byte, which uint8) {
		d, _ := newDialogues("gw", few)
		for _, data := range [][]byte{one, two, one, two} {
			e := wire.Envelope{To: "gw", Sender: "me", Protocol: specs[int(which)%len(specs)], Message: data}
			turn, err := d.Receive(e)
			if err != nil || turn.Dialogue == nil {
				continue
			}
			if again, err := d.Receive(e); err == nil && (!again.Repeated || again.Dialogue != turn.Dialogue) {
				t.Fatal("the same message was accepted twice")
			}
			_, _ = turn.Dialogue.Reply(turn.Message.ID, protocol.FIPAMessage{Performative: protocol.FIPAPropose})
			if c := d.Counts(); c.HalfOpen+c.Open > few.PerOpponent || c.Ended > few.Ended {
				t.Fatalf("got %+v; want HalfOpen + c.Open at most %v and Ended at most %v", c, few.PerOpponent, few.Ended)
			}
		}
	})
}
