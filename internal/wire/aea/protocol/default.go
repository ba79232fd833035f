package protocol

import (
	"errors"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// The performatives of default.
const (
	DefaultBytes Performative = "bytes"
	DefaultEnd   Performative = "end"
	DefaultError Performative = "error"
)

var defaultTable = table{DefaultBytes, DefaultEnd, DefaultError}

// Default is the default protocol. It carries arbitrary bytes, and errors about messages of all protocols.
var Default = Protocol{
	Name: "default", Specs: []wire.PublicID{spec("fetchai", "default")}, Parse: decodeDefault,
	Rules: Rules{
		Starter: "agent", Responder: "agent",
		Initial:    []Performative{DefaultBytes, DefaultError},
		Replies:    map[Performative][]Performative{DefaultBytes: {DefaultBytes, DefaultEnd, DefaultError}},
		Ends:       map[Performative]EndState{DefaultEnd: Successful, DefaultError: Failed},
		Repeats:    []Performative{DefaultBytes},
		KeepsEnded: true,
	},
}

// A DefaultMessage is a message of default.
type DefaultMessage struct {
	Performative Performative
	Bytes        []byte            // for DefaultBytes
	Code         ErrorCode         // for DefaultError, like Text and Data
	Text         string            // for people
	Data         map[string][]byte // may be nil
}

// An ErrorCode is the kind of a problem with a message.
type ErrorCode int

// The error codes of default.
const (
	CodeUnsupportedProtocol ErrorCode = 0
	CodeUndecodable         ErrorCode = 1
	CodeInvalidMessage      ErrorCode = 2
	CodeUnsupportedSkill    ErrorCode = 3
	CodeInvalidDialogue     ErrorCode = 4
)

// errorTexts are the texts that agents send with the codes.
var errorTexts = [...]string{"Unsupported protocol.", "Decoding error.", "Invalid message.", "Unsupported skill.", "Invalid dialogue."}

// errorData limits the data of an error, which may contain the envelope that caused the error.
var errorData = field.MapLimits{Entries: 16, Key: 128, Value: wire.MaxEnvelope}

// CodeOf returns the code for an error of this package or of package wire. For any other error, it returns CodeInvalidMessage.
func CodeOf(err error) ErrorCode {
	switch {
	case errors.Is(err, ErrUnsupported):
		return CodeUnsupportedProtocol
	case errors.Is(err, wire.ErrUndecodable):
		return CodeUndecodable
	case errors.Is(err, ErrUnhandled):
		return CodeUnsupportedSkill
	case errors.Is(err, ErrDialogue):
		return CodeInvalidDialogue
	default:
		return CodeInvalidMessage
	}
}

// maxQuoted limits the size of the envelope that an error contains, in bytes before its encoding. A larger envelope is omitted.
const maxQuoted = 64 << 10

// ErrorMessage returns the message that reports an error about an envelope. It contains the text that agents use for the code, but not the
// text of err. It does not belong to a dialogue: both references are empty, and the id is 1. As in the framework's error handler, the data
// consists of the specification id and the envelope in the encoding of Python's base64.b85encode.
func ErrorMessage(err error, about wire.Envelope) wire.Message {
	code := CodeOf(err)
	m := DefaultMessage{Performative: DefaultError, Code: code, Text: errorTexts[code], Data: map[string][]byte{
		"protocol_id": base85([]byte(about.Protocol.String())),
	}}
	if data, err := about.Encode(); err == nil && len(data) <= maxQuoted {
		m.Data["envelope"] = base85(data)
	}
	return wire.Message{ID: 1, Content: m.Encode()}
}

// Kind returns the performative.
func (m DefaultMessage) Kind() Performative { return m.Performative }

func decodeDefault(content []byte) (Content, error) {
	var m DefaultMessage
	err := defaultTable.decode(content, &m.Performative, m.fields)
	return m, err
}

func (m *DefaultMessage) fields() []field.Field {
	switch m.Performative {
	case DefaultBytes:
		return []field.Field{field.BytesOf(1, &m.Bytes, wire.MaxEnvelope)}
	case DefaultError:
		return []field.Field{
			enum(&m.Code, CodeInvalidDialogue), field.TextOf(2, &m.Text, MaxText), field.MapOf(3, &m.Data, errorData),
		}
	default: // the others have no fields
		return nil
	}
}

// Encode returns the content of a wire.Message.
func (m DefaultMessage) Encode() []byte { return defaultTable.encode(m.Performative, m.fields()) }
