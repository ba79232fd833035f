// Package protocol implements the protocols of the AEA framework that agents use with each other: the contents of their messages, and the
// rules about which message may reply to which.
//
//	p, err := protocol.Lookup(envelope.Protocol)
//	content, err := p.Decode(message.Content)
//
// Decoding enforces the limits in the constants. Encoding does not check limits, because the gateway creates the content itself.
package protocol

import (
	"errors"
	"fmt"
	"slices"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// Errors for which CodeOf returns a code of the default protocol. The error for undecodable input is wire.ErrUndecodable.
var (
	ErrUnsupported = errors.New("the protocol is not supported")
	ErrMessage     = errors.New("the message is not valid here")
	ErrUnhandled   = errors.New("the protocol has no handler")
	ErrDialogue    = errors.New("the message violates the rules of its dialogue")
)

// MaxText limits the texts in messages, in bytes, unless a different limit is documented.
const MaxText = 4096

// A Performative is the kind of a message in its protocol.
type Performative string

// A Content is the content of a message: a DefaultMessage, an HTTPMessage, a FIPAMessage, a SigningMessage, a StateUpdateMessage, an
// OEFMessage, or a type of another protocol.
type Content interface {
	// Kind returns the performative.
	Kind() Performative
	// Encode returns the content of a wire.Message.
	Encode() []byte
}

// A Protocol defines a kind of dialogue.
type Protocol struct {
	Name string
	// Specs are the specification ids that identify the protocol on the wire. A reply has the same id as the message that it replies to.
	Specs []wire.PublicID
	Rules Rules
	// Parse decodes the content of a message. It must bound its input, and wrap wire.ErrUndecodable if it rejects it.
	Parse func(content []byte) (Content, error)
}

// Rules are the rules of the dialogues of a protocol.
type Rules struct {
	// Starter and Responder are the roles of the two sides. They are not on the wire.
	Starter, Responder string
	// Initial are the performatives that can begin a dialogue.
	Initial []Performative
	// Replies maps each performative to its permitted replies.
	Replies map[Performative][]Performative
	// Ends maps each performative that ends a dialogue to the end state. EndsBy does the same for performatives whose end state depends on
	// the message that they reply to.
	Ends   map[Performative]EndState
	EndsBy map[[2]Performative]EndState // the key is the performative and the one that it replies to
	// Repeats are performatives. If the last message of a dialogue has one of them and arrives again, byte for byte, the recipient replies
	// again.
	Repeats []Performative
	// KeepsEnded means that ended dialogues are remembered, so that their references cannot be used again.
	KeepsEnded bool
}

// An EndState is the state in which a dialogue has ended.
type EndState string

// The end states.
const (
	Successful      EndState = "successful"
	Failed          EndState = "failed"
	DeclinedCFP     EndState = "declined_cfp"
	DeclinedPropose EndState = "declined_propose"
	DeclinedAccept  EndState = "declined_accept"
)

// Begins reports whether a dialogue may begin with p.
func (r Rules) Begins(p Performative) bool { return slices.Contains(r.Initial, p) }

// Answers reports whether p may reply to target.
func (r Rules) Answers(p, target Performative) bool { return slices.Contains(r.Replies[target], p) }

// AnswersAgain reports whether a repeated message with p is replied to again.
func (r Rules) AnswersAgain(p Performative) bool { return slices.Contains(r.Repeats, p) }

// End returns the state in which a dialogue ends if p replies to target, and reports whether it ends the dialogue.
func (r Rules) End(p, target Performative) (EndState, bool) {
	if state, ok := r.EndsBy[[2]Performative{p, target}]; ok {
		return state, true
	}
	state, ok := r.Ends[p]
	return state, ok
}

// all contains the protocols of this package.
var all = []*Protocol{&Default, &HTTP, &FIPA, &Signing, &StateUpdate, &OEFSearch, &OEF}

// All returns the protocols of this package.
func All() []*Protocol { return slices.Clone(all) }

// Lookup returns the protocol with the given specification id, or ErrUnsupported. All fields of the id must be equal.
func Lookup(spec wire.PublicID) (*Protocol, error) {
	for _, p := range all {
		if slices.Contains(p.Specs, spec) {
			return p, nil
		}
	}
	return nil, ErrUnsupported
}

// Decode decodes the content of a message. Its bytes share memory with content. The error wraps wire.ErrUndecodable.
func (p *Protocol) Decode(content []byte) (Content, error) {
	c, err := p.Parse(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	return c, nil
}

// first is the number of the field for the first performative of a protocol.
const first = 5

// A table lists the performatives of a protocol in the order of their field numbers, which is alphabetical.
type table []Performative

// decode sets p to the performative of a message, and then reads the fields that fields returns for it.
func (t table) decode(content []byte, p *Performative, fields func() []field.Field) error {
	var body []byte
	r := field.Read(content)
	for r.Next() {
		if at := r.Number() - first; at >= 0 && at < len(t) {
			r.Choose()
			*p, body = t[at], r.Bytes(wire.MaxEnvelope)
		}
	}
	r.Chosen()
	if err := r.Err(); err != nil {
		return err
	}
	return field.Decode(body, fields()...)
}

// encode is the inverse of decode.
func (t table) encode(p Performative, fields []field.Field) []byte {
	return field.AppendMember(nil, first+slices.Index(t, p), field.Encode(fields...))
}

// inner is a message with a single field of bytes. The framework wraps its own types in such messages.
func inner(number int, b *[]byte) field.Field {
	return field.MessageOf(number, wire.MaxEnvelope, field.BytesOf(1, b, wire.MaxEnvelope))
}

// enum is an enumeration with the values 0 to last. The framework nests enumerations in messages.
func enum[E ~int](v *E, last E) field.Field {
	return field.MessageOf(1, MaxText, field.EnumOf(1, v, last))
}

// spec returns a specification id of version 1.0.0, the version of all protocols here.
func spec(author, name string) wire.PublicID {
	return wire.PublicID{Author: author, Name: name, Version: "1.0.0"}
}
