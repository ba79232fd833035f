// Package aea has the messages of agents of the AEA framework: envelopes, the messages in them, and the frames and records that carry
// both over a connection. Other packages read the content of messages, by protocol.
//
//	e, err := wire.DecodeEnvelope(frame)
//	m, err := wire.DecodeMessage(e.Message)
//
// Both implementations of the framework, agents-aea (fetchai) and open-aea (valory), write the same bytes; their packages have names of
// different authors. Not supported: messages with a body of google.protobuf.Struct, which no packaged protocol uses, and messages of
// agents before 0.10, which had no dialogues.
package aea

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// ErrUndecodable is wrapped by every error of a decoder of this binding. Its text never quotes what was read.
var ErrUndecodable = field.ErrUndecodable

// ErrUnsendable means that a value exceeds the bounds of the wire, so that the recipient could not read it.
var ErrUnsendable = errors.New("cannot be sent")

// The bounds of an envelope, in bytes.
const (
	MaxEnvelope = 3 << 20 // the whole envelope, as the nodes of the agents' network bound it
	MaxAddress  = 512
	MaxURI      = 2048
)

// An Envelope carries one message from agent to agent, or from one component of an agent to another.
type Envelope struct {
	To     string // the address of an agent, or the public id of a component
	Sender string // of the same kind as To
	// Protocol names the wire format of the message: the protocol's specification id, although the field on the wire is
	// called protocol_id. The id of a package that implements it is never sent.
	Protocol PublicID
	Message  []byte // a Message, encoded
	URI      string // may be empty; nothing is routed by it
}

// DecodeEnvelope decodes an envelope of at most MaxEnvelope bytes. It ignores unknown fields. It rejects envelopes without sender or
// receiver, with control characters in an address, whose protocol is not a public id, between an agent and a component, and those between
// components that have a URI, because an AEA stops at them. Message shares memory with data.
func DecodeEnvelope(data []byte) (Envelope, error) {
	if len(data) > MaxEnvelope {
		return Envelope{}, fmt.Errorf("%w: envelope: too long", ErrUndecodable)
	}
	var e Envelope
	var protocol string
	r := field.Read(data)
	for r.Next() {
		switch r.Number() {
		case 1:
			e.To = r.Text(MaxAddress)
		case 2:
			e.Sender = r.Text(MaxAddress)
		case 3:
			protocol = r.Text(maxPublicID)
		case 4:
			e.Message = r.Bytes(MaxEnvelope)
		case 5:
			e.URI = r.Text(MaxURI)
		}
	}
	if err := r.Err(); err != nil {
		return Envelope{}, fmt.Errorf("envelope: %w", err)
	}
	var err error
	if e.Protocol, err = ParsePublicID(protocol); err != nil {
		return Envelope{}, fmt.Errorf("envelope: protocol: %w", err)
	}
	if why := e.wrong(); why != "" {
		return Envelope{}, fmt.Errorf("%w: envelope: %s", ErrUndecodable, why)
	}
	return e, nil
}

// Encode returns the bytes of the envelope. If DecodeEnvelope would reject it, the error is ErrUnsendable.
func (e Envelope) Encode() ([]byte, error) {
	if why := e.wrong(); why != "" {
		return nil, fmt.Errorf("%w: envelope: %s", ErrUnsendable, why)
	}
	if _, err := ParsePublicID(e.Protocol.String()); err != nil {
		return nil, fmt.Errorf("%w: envelope: the protocol is not a public id", ErrUnsendable)
	}
	out := field.AppendText(nil, 1, e.To)
	out = field.AppendText(out, 2, e.Sender)
	out = field.AppendText(out, 3, e.Protocol.String())
	out = field.AppendBytes(out, 4, e.Message)
	out = field.AppendText(out, 5, e.URI)
	if len(out) > MaxEnvelope {
		return nil, fmt.Errorf("%w: envelope: too long", ErrUnsendable)
	}
	return out, nil
}

// ToComponent reports whether the envelope goes from component to component, which is inside one agent.
func (e Envelope) ToComponent() bool { return IsComponent(e.To) }

// wrong returns the rule that an envelope violates; empty: none.
func (e Envelope) wrong() string {
	switch {
	case !isAddress(e.To):
		return "to is not an address"
	case !isAddress(e.Sender):
		return "sender is not an address"
	case e.ToComponent() != IsComponent(e.Sender):
		return "one side is an agent and the other one a component"
	case len(e.URI) > MaxURI || !utf8.ValidString(e.URI):
		return "the uri is too long, or no UTF-8"
	case e.ToComponent() && e.URI != "":
		return "a uri between components"
	}
	return ""
}

// IsAgent reports whether s may be the address of an agent: 1 to MaxAddress bytes of UTF-8 without control characters, and no
// public id.
func IsAgent(s string) bool { return isAddress(s) && !IsComponent(s) }

// isAddress reports whether s may be an address: 1 to MaxAddress bytes of UTF-8 without control characters.
func isAddress(s string) bool {
	for _, c := range s {
		if unicode.IsControl(c) {
			return false
		}
	}
	return s != "" && len(s) <= MaxAddress && utf8.ValidString(s)
}
