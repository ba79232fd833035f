package protocol

import (
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// The performatives of signing.
const (
	SigningError             Performative = "error"
	SigningSignMessage       Performative = "sign_message"
	SigningSignTransaction   Performative = "sign_transaction"
	SigningSignedMessage     Performative = "signed_message"
	SigningSignedTransaction Performative = "signed_transaction"
)

var signingTable = table{
	SigningError, SigningSignMessage, SigningSignTransaction, SigningSignedMessage, SigningSignedTransaction,
}

// Signing is the protocol between a skill and the decision maker of one agent. Agents do not send it to each other: in a negotiation, the
// signature is part of the info of a fipa message.
var Signing = Protocol{
	Name: "signing", Specs: []wire.PublicID{spec("fetchai", "signing"), spec("open_aea", "signing")}, Parse: decodeSigning,
	Rules: Rules{
		Starter: "skill", Responder: "decision_maker",
		Initial: []Performative{SigningSignMessage, SigningSignTransaction},
		Replies: map[Performative][]Performative{
			SigningSignMessage:     {SigningSignedMessage, SigningError},
			SigningSignTransaction: {SigningSignedTransaction, SigningError},
		},
		Ends: map[Performative]EndState{SigningSignedMessage: Successful, SigningSignedTransaction: Successful, SigningError: Failed},
	},
}

// A SigningMessage is a message of signing. Terms and Payload are not decoded; in the framework they are a google.protobuf.Struct with the
// framework's own type marks.
type SigningMessage struct {
	Performative Performative
	Terms        []byte           // for SigningSignMessage and SigningSignTransaction
	Payload      []byte           // the message or the transaction, raw or signed
	Code         SigningErrorCode // for SigningError
}

// A SigningErrorCode is the reason why something could not be signed.
type SigningErrorCode int

// The error codes of signing.
const (
	UnsuccessfulMessageSigning     SigningErrorCode = 0
	UnsuccessfulTransactionSigning SigningErrorCode = 1
)

// Kind returns the performative.
func (m SigningMessage) Kind() Performative { return m.Performative }

func decodeSigning(content []byte) (Content, error) {
	p, body, err := signingTable.open(content)
	if err != nil {
		return nil, err
	}
	m := SigningMessage{Performative: p}
	asks := p == SigningSignMessage || p == SigningSignTransaction
	r := field.Read(body)
	for r.Next() {
		switch {
		case p == SigningError && r.Number() == 1:
			m.Code = SigningErrorCode(enumIn(r, int(UnsuccessfulTransactionSigning)))
		case asks && r.Number() == 1:
			m.Terms, err = inner(r.Bytes(wire.MaxEnvelope))
			r.Within(err)
		case asks && r.Number() == 2, p != SigningError && !asks && r.Number() == 1:
			m.Payload, err = inner(r.Bytes(wire.MaxEnvelope))
			r.Within(err)
		}
	}
	return m, r.Err()
}

// Encode returns the content of a wire.Message.
func (m SigningMessage) Encode() []byte {
	payload := field.AppendBytes(nil, 1, m.Payload)
	var body []byte
	switch m.Performative {
	case SigningError:
		body = field.AppendMember(nil, 1, field.AppendInt(nil, 1, int64(m.Code)))
	case SigningSignMessage, SigningSignTransaction:
		body = field.AppendMember(field.AppendMember(nil, 1, field.AppendBytes(nil, 1, m.Terms)), 2, payload)
	default:
		body = field.AppendMember(nil, 1, payload)
	}
	return signingTable.close(m.Performative, body)
}
