// Package aea encodes and decodes the messages of agents of the AEA framework: envelopes, the messages in them, and the frames and records
// that carry envelopes over a connection. Package protocol decodes the contents of messages.
//
//	e, err := wire.DecodeEnvelope(frame)
//	m, err := wire.DecodeMessage(e.Message)
//
// Both implementations of the framework, agents-aea (fetchai) and open-aea (valory), use the same encoding, but the public ids of
// their packages contain different authors. Messages with a body of type google.protobuf.Struct, which no packaged protocol uses, are not
// supported. Neither are messages of agents before version 0.10, which did not have dialogues.
package aea

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// ErrUndecodable is wrapped by every error of the decoders in this package and the packages below it. The texts of these errors never
// quote the input.
var ErrUndecodable = field.ErrUndecodable

// ErrUnsendable means that a value exceeds a limit of the encoding, and the recipient could not decode it.
var ErrUnsendable = errors.New("cannot be sent")

// The limits of an envelope, in bytes.
const (
	MaxEnvelope = 3 << 20 // maximum size of a whole envelope, in bytes; nodes of the agent communication network have the same limit
	MaxAddress  = 512
	MaxURI      = 2048
)

// An Envelope carries one message from agent to agent, or from one component of an agent to another.
type Envelope struct {
	To     string // the address of an agent, or the public id of a component
	Sender string // the address of the sender, of the same kind as To
	// Protocol is the specification id of the protocol, which identifies the wire format of the message. On the wire, the field is called
	// protocol_id, although the id of the package that implements the protocol is never sent.
	Protocol PublicID
	Message  []byte // an encoded Message
	URI      string // may be empty; not used for routing
}

// DecodeEnvelope decodes an envelope of at most MaxEnvelope bytes. It ignores unknown fields. It rejects an envelope without a sender or a
// receiver, with control characters in an address, or with a protocol that is not a public id. It also rejects an envelope between an
// agent and a component, and one with a URI between components, because an AEA that receives such an envelope stops. Message shares memory
// with data. The error wraps ErrUndecodable.
func DecodeEnvelope(data []byte) (Envelope, error) {
	if len(data) > MaxEnvelope {
		return Envelope{}, fmt.Errorf("%w: envelope: too long", ErrUndecodable)
	}
	var e Envelope
	var protocol string
	if err := field.Decode(data, e.fields(&protocol)...); err != nil {
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

func (e *Envelope) fields(protocol *string) []field.Field {
	return []field.Field{
		field.TextOf(1, &e.To, MaxAddress), field.TextOf(2, &e.Sender, MaxAddress), field.TextOf(3, protocol, maxPublicID),
		field.BytesOf(4, &e.Message, MaxEnvelope), field.TextOf(5, &e.URI, MaxURI),
	}
}

// Encode returns the bytes of the envelope. The error wraps ErrUnsendable if DecodeEnvelope would reject them.
func (e Envelope) Encode() ([]byte, error) {
	if why := e.wrong(); why != "" {
		return nil, fmt.Errorf("%w: envelope: %s", ErrUnsendable, why)
	}
	if _, err := ParsePublicID(e.Protocol.String()); err != nil {
		return nil, fmt.Errorf("%w: envelope: the protocol is not a public id", ErrUnsendable)
	}
	protocol := e.Protocol.String()
	out := field.Encode(e.fields(&protocol)...)
	if len(out) > MaxEnvelope {
		return nil, fmt.Errorf("%w: envelope: too long", ErrUnsendable)
	}
	return out, nil
}

// ToComponent reports whether the envelope is sent from one component to another within an agent.
func (e Envelope) ToComponent() bool { return IsComponent(e.To) }

// wrong describes the rule that the envelope violates. It returns "" if there is none.
func (e Envelope) wrong() string {
	switch {
	case !isAddress(e.To):
		return "to is not an address"
	case !isAddress(e.Sender):
		return "sender is not an address"
	case e.ToComponent() != IsComponent(e.Sender):
		return "one address is that of an agent and the other that of a component"
	case len(e.URI) > MaxURI || !utf8.ValidString(e.URI):
		return "the uri is too long or not UTF-8"
	case e.ToComponent() && e.URI != "":
		return "a uri is not allowed between components"
	}
	return ""
}

// IsAgent reports whether s may be the address of an agent: 1 to MaxAddress bytes of UTF-8 without control characters, but not a public
// id.
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
