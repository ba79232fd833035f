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
	var m SigningMessage
	err := signingTable.decode(content, &m.Performative, m.fields)
	return m, err
}

func (m *SigningMessage) fields() []field.Field {
	switch m.Performative {
	case SigningError:
		return []field.Field{enum(&m.Code, UnsuccessfulTransactionSigning)}
	case SigningSignMessage, SigningSignTransaction:
		return []field.Field{inner(1, &m.Terms), inner(2, &m.Payload)}
	default:
		return []field.Field{inner(1, &m.Payload)}
	}
}

// Encode returns the content of a wire.Message.
func (m SigningMessage) Encode() []byte { return signingTable.encode(m.Performative, m.fields()) }
