// Package protocol has the protocols of the AEA framework that agents use with each other: the contents of their messages, and which
// message may reply to which.
//
//	p, err := protocol.Lookup(envelope.Protocol)
//	content, err := p.Decode(message.Content)
//
// Decoding is bounded by the constants. Encoding does not check bounds, because the content is our own.
package protocol

import (
	"errors"
	"fmt"
	"slices"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// Errors with a code of the protocol default, which CodeOf returns. The error for undecodable input is wire.ErrUndecodable.
var (
	ErrUnsupported = errors.New("a protocol that is not spoken here")
	ErrMessage     = errors.New("a message that has no meaning here")
	ErrUnhandled   = errors.New("a protocol without a handler here")
	ErrDialogue    = errors.New("a message that breaks the rules of its dialogue")
)

// MaxText bounds the texts of messages, in bytes, unless another bound is given.
const MaxText = 4096

// A Performative is the kind of a message in its protocol.
type Performative string

// A Content is the content of a message: a DefaultMessage, an HTTPMessage, a FIPAMessage or a SigningMessage.
type Content interface {
	// Kind returns the performative.
	Kind() Performative
	// Encode returns the content of a wire.Message.
	Encode() []byte
}

// A Protocol is a kind of dialogue.
type Protocol struct {
	Name string
	// Specs are the specification ids that name it on the wire. A reply has the one that was received.
	Specs  []wire.PublicID
	Rules  Rules
	decode func(content []byte) (Content, error)
}

// Rules are the rules of the dialogues of a protocol.
type Rules struct {
	// Starter and Responder are the roles of the two sides. They are not on the wire.
	Starter, Responder string
	// Initial are the performatives that begin a dialogue.
	Initial []Performative
	// Replies maps each performative to its permitted replies.
	Replies map[Performative][]Performative
	// Ends maps the performatives that end a dialogue to the end state; EndsBy has those whose end depends on the message that they reply
	// to.
	Ends   map[Performative]EndState
	EndsBy map[[2]Performative]EndState // of the end, and of the message that it replies to
	// Repeats are the performatives that get their reply again if the last message of a dialogue is repeated, byte for byte.
	Repeats []Performative
	// KeepsEnded: an ended dialogue is remembered, so that its references cannot be used again.
	KeepsEnded bool
}

// An EndState is the state in which a dialogue has ended.
type EndState string

// The end states of the protocols here.
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

// AnswersAgain reports whether a repeated message with p gets its reply again.
func (r Rules) AnswersAgain(p Performative) bool { return slices.Contains(r.Repeats, p) }

// End returns the state in which p ends a dialogue as a reply to target, and whether it ends it.
func (r Rules) End(p, target Performative) (EndState, bool) {
	if state, ok := r.EndsBy[[2]Performative{p, target}]; ok {
		return state, true
	}
	state, ok := r.Ends[p]
	return state, ok
}

// all are the protocols.
var all = []*Protocol{&Default, &HTTP, &FIPA, &Signing}

// Lookup returns the protocol with a specification id, which is compared as a whole, or ErrUnsupported.
func Lookup(spec wire.PublicID) (*Protocol, error) {
	for _, p := range all {
		if slices.Contains(p.Specs, spec) {
			return p, nil
		}
	}
	return nil, ErrUnsupported
}

// Decode reads the content of a message. Its bytes share memory with content. Every error is wire.ErrUndecodable.
func (p *Protocol) Decode(content []byte) (Content, error) {
	c, err := p.decode(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	return c, nil
}

// first is the number of the field with the first performative of a protocol.
const first = 5

// A table lists the performatives of a protocol in the order of their fields, which is alphabetical.
type table []Performative

// open returns the one performative of a message, and its content.
func (t table) open(content []byte) (p Performative, body []byte, err error) {
	r := field.Read(content)
	for r.Next() {
		if at := r.Number() - first; at >= 0 && at < len(t) {
			r.Choose()
			p, body = t[at], r.Bytes(wire.MaxEnvelope)
		}
	}
	r.Chosen()
	if err := r.Err(); err != nil {
		return "", nil, err
	}
	return p, body, nil
}

// close encodes what open decodes.
func (t table) close(p Performative, body []byte) []byte {
	return field.AppendMember(nil, first+slices.Index(t, p), body)
}

// inner decodes a message of one bytes field, in which the framework puts its own types into messages.
func inner(data []byte) ([]byte, error) {
	var b []byte
	r := field.Read(data)
	for r.Next() {
		if r.Number() == 1 {
			b = r.Bytes(wire.MaxEnvelope)
		}
	}
	return b, r.Err()
}

// spec makes a specification id of version 1.0.0, which all have.
func spec(author, name string) wire.PublicID {
	return wire.PublicID{Author: author, Name: name, Version: "1.0.0"}
}
