package aea

import (
	"fmt"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// MaxReference limits the length of each of the two references of a dialogue, in bytes. Agents use 64 hexadecimal digits.
const MaxReference = 128

// A Message is one message in a dialogue.
type Message struct {
	ID           int32  // 1, 2, 3… from the initiator of the dialogue, -1, -2, -3… from the responder
	StarterRef   string // the reference that the initiator chose
	ResponderRef string // the reference that the responder chose; empty until it has chosen one
	Target       int32  // the ID of the message that this one replies to; 0 in the first message
	Content      []byte // encoded by the protocol that the envelope names; never empty
}

// DecodeMessage decodes a message. It does not check the rules of its dialogue. Content shares memory with data. The error wraps
// ErrUndecodable.
func DecodeMessage(data []byte) (Message, error) {
	var m Message
	r := field.Read(data)
	for r.Next() {
		switch r.Number() {
		case 1:
			r.Choose()
			r.Fail("a message without a dialogue is not supported")
		case 2:
			r.Choose()
			r.Within(field.Decode(r.Bytes(MaxEnvelope), m.fields()...))
			if len(m.Content) == 0 { // the content always contains the performative
				r.Fail("the content is missing")
			}
		}
	}
	r.Chosen()
	if err := r.Err(); err != nil {
		return Message{}, fmt.Errorf("message: %w", err)
	}
	return m, nil
}

// fields returns the fields of a message that belongs to a dialogue.
func (m *Message) fields() []field.Field {
	return []field.Field{
		field.Int32Of(1, &m.ID), field.TextOf(2, &m.StarterRef, MaxReference), field.TextOf(3, &m.ResponderRef, MaxReference),
		field.Int32Of(4, &m.Target), field.BytesOf(5, &m.Content, MaxEnvelope),
	}
}

// Encode returns the bytes of the message. The error wraps ErrUnsendable if DecodeMessage would reject them.
func (m Message) Encode() ([]byte, error) {
	if !isReference(m.StarterRef) || !isReference(m.ResponderRef) {
		return nil, fmt.Errorf("%w: message: a reference is too long or not UTF-8", ErrUnsendable)
	}
	if len(m.Content) == 0 || len(m.Content) > MaxEnvelope {
		return nil, fmt.Errorf("%w: message: the content is empty or too long", ErrUnsendable)
	}
	return field.AppendMember(nil, 2, field.Encode(m.fields()...)), nil
}

func isReference(s string) bool { return len(s) <= MaxReference && utf8.ValidString(s) }
