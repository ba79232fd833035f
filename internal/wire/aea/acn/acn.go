// Package acn encodes and decodes the messages between an agent and a node of the agent communication network. The agent registers, and
// then both send each other envelopes and acknowledge them. On the socket, an acn.Message is sent in a frame of wire.ACN, without an
// envelope. A mailbox accepts only the Record.
package acn

import (
	"fmt"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// The limits of the contents of a message.
const (
	MaxText  = 1024 // bytes of each string in a record or a status
	MaxTexts = 16   // strings in a status
)

// A Kind is the kind of a Message.
type Kind int

// The kinds. Each value is the number of the field that contains the message.
const (
	Envelope       Kind = 5
	LookupRequest  Kind = 6
	LookupResponse Kind = 7
	Register       Kind = 8
	Status         Kind = 9
)

// A Code is the result that a node returns for a message.
type Code int

// The codes of a status.
const (
	Success             Code = 0
	UnsupportedVersion  Code = 1
	UnexpectedPayload   Code = 2
	Generic             Code = 3
	Undecodable         Code = 4
	WrongAgentAddress   Code = 10
	WrongPublicKey      Code = 11
	InvalidProof        Code = 12
	UnsupportedLedger   Code = 13
	UnknownAgentAddress Code = 20
	AgentNotReady       Code = 21
)

// A Message is a message of one of the five kinds. Only the fields of its kind are set.
type Message struct {
	Kind     Kind
	Envelope []byte   // for Envelope: an encoded wire.Envelope
	Record   *Record  // for LookupResponse and Register, and for Envelope between nodes
	Address  string   // for LookupRequest
	Code     Code     // for Status
	Texts    []string // for Status; may be empty
}

// A Record is the registration of an agent, with a proof. Any field may be empty, because clients of nodes leave some of them empty.
type Record struct {
	Service       string // normally acn
	Ledger        string // the ledger of the agent's key and address
	Address       string
	PublicKey     string // the agent's
	PeerPublicKey string // the node's
	Signature     string // by the agent, over PeerPublicKey
	NotBefore     string
	NotAfter      string
}

// Decode decodes a message. It does not decode the Envelope, which shares memory with data. The error wraps wire.ErrUndecodable.
func Decode(data []byte) (Message, error) {
	var m Message
	r := field.Read(data)
	for r.Next() {
		if r.Number() < int(Envelope) || r.Number() > int(Status) {
			continue
		}
		r.Choose()
		m.Kind = Kind(r.Number())
		r.Within(m.decode(r.Bytes(wire.MaxEnvelope)))
	}
	r.Chosen()
	if err := r.Err(); err != nil {
		return Message{}, fmt.Errorf("acn: %w", err)
	}
	return m, nil
}

// decode decodes the fields of a message of the kind m.Kind.
func (m *Message) decode(data []byte) error {
	known := 0
	r := field.Read(data)
	for r.Next() {
		known++
		switch {
		case m.Kind == Envelope && r.Number() == 1:
			m.Envelope = r.Bytes(wire.MaxEnvelope)
		case m.Kind == LookupRequest && r.Number() == 1:
			m.Address = r.Text(wire.MaxAddress)
		case m.Kind == Envelope && r.Number() == 2, (m.Kind == LookupResponse || m.Kind == Register) && r.Number() == 1:
			record, err := DecodeRecord(r.Bytes(wire.MaxEnvelope))
			r.Within(err)
			m.Record = &record
		case m.Kind == Status && r.Number() == 1:
			r.Within(field.Decode(r.Bytes(wire.MaxEnvelope), m.status()...))
		default:
			known--
		}
	}
	if err := r.Err(); err != nil {
		return err
	}
	if known == 0 || m.Kind == Envelope && len(m.Envelope) == 0 || m.Kind == LookupRequest && m.Address == "" {
		return fmt.Errorf("%w: the message is empty", wire.ErrUndecodable)
	}
	return nil
}

// status returns the fields of the body of a Status.
func (m *Message) status() []field.Field {
	return []field.Field{field.EnumOf(1, &m.Code, AgentNotReady), field.TextsOf(2, &m.Texts, MaxTexts, MaxText)}
}

// DecodeRecord decodes the registration of an agent. The error wraps wire.ErrUndecodable.
func DecodeRecord(data []byte) (Record, error) {
	var record Record
	if err := field.Decode(data, record.fields()...); err != nil {
		return Record{}, fmt.Errorf("record: %w", err)
	}
	return record, nil
}

func (r *Record) fields() (list []field.Field) {
	for i, s := range []*string{
		&r.Service, &r.Ledger, &r.Address, &r.PublicKey, &r.PeerPublicKey, &r.Signature, &r.NotBefore, &r.NotAfter,
	} {
		list = append(list, field.TextOf(i+1, s, MaxText))
	}
	return list
}

// Encode returns the bytes of the record. It does not check any limits.
func (r Record) Encode() []byte { return field.Encode(r.fields()...) }

// Encode returns the bytes of the message. It does not check any limits.
func (m Message) Encode() []byte {
	var inner []byte
	switch m.Kind {
	case Envelope:
		inner = field.AppendBytes(nil, 1, m.Envelope)
		if m.Record != nil {
			inner = field.AppendMember(inner, 2, m.Record.Encode())
		}
	case LookupRequest:
		inner = field.AppendText(nil, 1, m.Address)
	case LookupResponse, Register:
		if m.Record != nil {
			inner = field.AppendMember(nil, 1, m.Record.Encode())
		}
	case Status:
		inner = field.AppendMember(nil, 1, field.Encode(m.status()...))
	}
	return field.AppendMember(nil, int(m.Kind), inner)
}
