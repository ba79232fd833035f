package envelope

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf8"
)

// ErrPayload means that a payload holds no message.
var ErrPayload = errors.New("the payload is not a message: want standard base64, with padding, of JSON in UTF-8")

// Pack returns the payload of a message: the base64 of its JSON.
func Pack(message []byte) string { return base64.StdEncoding.EncodeToString(message) }

// Message returns the JSON text in the payload, in UTF-8; the caller parses it strictly. The error is ErrPayload: no payload, another
// alphabet, no padding, line breaks, bits after the last byte, or other bytes than UTF-8.
func (e Envelope) Message() ([]byte, error) {
	message, err := base64.StdEncoding.Strict().DecodeString(e.Payload)
	if err != nil || len(message) == 0 || strings.ContainsAny(e.Payload, "\r\n") || !utf8.Valid(message) { // the library skips line breaks
		return nil, ErrPayload
	}
	return message, nil
}
