package runtime_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// FuzzReceive checks that an agent survives any envelope, and replies to the next one.
func FuzzReceive(f *testing.F) {
	for _, data := range aeavectors.Vectors(f, "../../../internal/wire/aea/testdata/vectors.txt", "envelope/") {
		f.Add(data)
	}
	for _, data := range aeavectors.Vectors(f, "../../../internal/wire/aea/testdata/vectors.txt", "message/") {
		e, err := wire.Envelope{To: self, Sender: "me", Protocol: fipaSpec, Message: data}.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e)
	}
	answer := func(_ context.Context, m runtime.Message) error { return m.Reply(m.Content) }
	s := runtime.Skill{ID: skillID}
	for _, p := range []*protocol.Protocol{&protocol.Default, &protocol.HTTP, &protocol.FIPA} {
		s.Handlers = append(s.Handlers, runtime.Handler{Protocol: p, Handle: answer})
	}
	l := newLine("first")
	running(f, runtime.Options{}, []runtime.Skill{s}, l)
	var requests int
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := wire.DecodeEnvelope(data)
		if err != nil {
			return
		}
		e.To, e.Sender = self, "somebody"
		l.put(t, e)
		requests++
		l.put(t, message(t, "asks", fmt.Sprint(requests), 1, 0, defaultSpec, text("hello")))
		if d := defaultMessage(t, l.sent(t, "asks")); string(d.Bytes) != "hello" {
			t.Errorf("got %+v", d)
		}
		for { // empties the queue of the sender
			_, done, ok := l.queue(e.Sender).First()
			if !ok {
				return
			}
			done()
		}
	})
}
