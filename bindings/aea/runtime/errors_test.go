package runtime_test

import (
	"context"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// TestUnhandledMessages lists which messages get an error and which are only counted. The last message of each row gets a reply, which
// proves that those before it have been processed.
func TestUnhandledMessages(t *testing.T) {
	t.Parallel()
	fault := protocol.DefaultMessage{Performative: protocol.DefaultError, Code: protocol.CodeInvalidMessage, Text: "x"}
	end := protocol.DefaultMessage{Performative: protocol.DefaultEnd}
	hello := message(t, "me", "a1", 1, 0, defaultSpec, text("hello"))
	with := func(change func(*wire.Envelope)) wire.Envelope {
		e := hello
		change(&e)
		return e
	}
	for name, row := range map[string]struct {
		come     []wire.Envelope
		code     protocol.ErrorCode
		unserved uint64
	}{
		"an unknown protocol": {
			come: []wire.Envelope{with(func(e *wire.Envelope) {
				e.Protocol = wire.PublicID{Author: "fetchai", Name: "gym", Version: "1.0.0"}
			})},
			code: protocol.CodeUnsupportedProtocol,
		},
		"another version of a protocol": {
			come: []wire.Envelope{with(func(e *wire.Envelope) { e.Protocol.Version = "1.1.7" })}, code: protocol.CodeUnsupportedProtocol,
		},
		"no message": {come: []wire.Envelope{with(func(e *wire.Envelope) { e.Message = nil })}, code: protocol.CodeUndecodable},
		"cut off":    {come: []wire.Envelope{with(func(e *wire.Envelope) { e.Message = e.Message[:5] })}, code: protocol.CodeUndecodable},
		"no handler, so the message is not decoded": {
			come: []wire.Envelope{with(func(e *wire.Envelope) { e.Protocol, e.Message = fipaSpec, []byte("x") })}, code: protocol.CodeUnsupportedSkill,
		},
		"a dialogue started twice": {
			come: []wire.Envelope{hello, message(t, "me", "a1", 1, 0, defaultSpec, text("another"))}, code: protocol.CodeInvalidDialogue,
		},
		"a dialogue that was not started": {come: []wire.Envelope{message(t, "me", "a1", 2, -1, defaultSpec, text("x"))}, code: protocol.CodeInvalidDialogue},
		"a performative without meaning":  {come: []wire.Envelope{message(t, "me", "a1", 1, 0, defaultSpec, text("nonsense"))}, code: protocol.CodeInvalidMessage},
		"an error":                        {come: []wire.Envelope{message(t, "me", "", 1, 0, defaultSpec, fault)}, code: -1},
		"a wrong performative at the end": {come: []wire.Envelope{message(t, "me", "a1", 3, 7, defaultSpec, end)}, code: -1},
		"wrong errors":                    {come: []wire.Envelope{message(t, "me", "a1", 3, 7, defaultSpec, fault), message(t, "me", "", 2, 7, defaultSpec, fault)}, code: -1},
		"a panic":                         {come: []wire.Envelope{message(t, "me", "a1", 1, 0, defaultSpec, text("panic"))}, code: -1},
		"for another agent": {
			come: []wire.Envelope{with(func(e *wire.Envelope) { e.To = "fetch1other" })}, code: -1, unserved: 1,
		},
		"for a skill, from outside": {
			come: []wire.Envelope{with(func(e *wire.Envelope) { e.To, e.Sender = skillID.String(), "shop/other:1.0.0" })}, code: -1, unserved: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLine("first")
			r := running(t, runtime.Options{}, []runtime.Skill{echo()}, l)
			for _, e := range row.come {
				l.put(t, e)
			}
			if len(row.come) == 2 && row.code >= 0 {
				l.sent(t, "me") // the reply to the first
			}
			if row.code >= 0 {
				e := l.sent(t, "me")
				m, _ := wire.DecodeMessage(e.Message)
				d := defaultMessage(t, e)
				if d.Performative != protocol.DefaultError || d.Code != row.code || m.StarterRef != "" || m.ID != 1 {
					t.Errorf("got %+v, %+v", d, m)
				}
				if len(d.Data["protocol_id"]) == 0 || len(d.Data["envelope"]) == 0 {
					t.Errorf("data: %q", d.Data)
				}
			}
			l.put(t, message(t, "me", "last", 1, 0, defaultSpec, text("last")))
			if d := defaultMessage(t, l.sent(t, "me")); string(d.Bytes) != "last" {
				t.Errorf("unexpected reply: %+v", d)
			}
			if s := r.Status(); s.Unserved != row.unserved || s.Errors.Answered > 1 {
				t.Errorf("got %+v; want Unserved %v and Errors.Answered at most 1", s, row.unserved)
			}
		})
	}
}

// TestErrorsAreRateLimited checks that a sender that floods gets about ten errors, and that another sender still gets one.
func TestErrorsAreRateLimited(t *testing.T) {
	t.Parallel()
	l := newLine("first")
	now := clock()
	r := running(t, runtime.Options{Now: now.Now}, []runtime.Skill{echo()}, l)
	unknown := message(t, "flood", "a1", 1, 0, wire.PublicID{Author: "fetchai", Name: "gym", Version: "1.0.0"}, text("x"))
	for range 50 {
		l.put(t, unknown)
	}
	for range 10 {
		if d := defaultMessage(t, l.sent(t, "flood")); d.Code != protocol.CodeUnsupportedProtocol {
			t.Errorf("got %+v", d)
		}
	}
	l.put(t, wire.Envelope{To: self, Sender: "other", Protocol: defaultSpec})
	if d := defaultMessage(t, l.sent(t, "other")); d.Code != protocol.CodeUndecodable {
		t.Errorf("got %+v", d)
	}
	l.put(t, message(t, "flood", "a1", 1, 0, defaultSpec, text("still served")))
	if d := defaultMessage(t, l.sent(t, "flood")); string(d.Bytes) != "still served" {
		t.Errorf("got %+v", d)
	}
	if s := r.Status().Errors; s.UnsupportedProtocol != 50 || s.Undecodable != 1 || s.Answered != 11 {
		t.Errorf("got %+v; want UnsupportedProtocol 50, Undecodable 1 and Answered 11", s)
	}
}

// TestSkillError checks that a handler may send an error with its own text, within the same limits.
func TestSkillError(t *testing.T) {
	t.Parallel()
	l := newLine("first")
	sent := make(chan bool, 100)
	running(t, runtime.Options{Now: clock().Now}, []runtime.Skill{{ID: skillID, Handlers: []runtime.Handler{{
		Protocol: &protocol.Default, Handle: func(_ context.Context, m runtime.Message) error {
			sent <- m.Error(protocol.DefaultMessage{Code: protocol.CodeInvalidMessage, Text: "not JSON"})
			return nil
		},
	}}}}, l)
	l.put(t, message(t, "me", "", 1, 0, defaultSpec, protocol.DefaultMessage{Performative: protocol.DefaultError}))
	if <-sent {
		t.Error("an error got a reply")
	}
	for i := range 12 {
		l.put(t, message(t, "me", string(rune('a'+i)), 1, 0, defaultSpec, text("{")))
		if was := <-sent; was != (i < 10) {
			t.Errorf("error %d: sent %v, want %v", i+1, was, i < 10)
		}
	}
	if d := defaultMessage(t, l.sent(t, "me")); d.Code != protocol.CodeInvalidMessage || d.Text != "not JSON" {
		t.Errorf("got %+v", d)
	}
}
