package envelope

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf8"
)

// ErrPayload means that a payload does not contain a message.
var ErrPayload = errors.New("the payload is not a message: want JSON in UTF-8, encoded in standard base64 with padding")

// Pack returns the payload for a message: its JSON in base64.
func Pack(message []byte) string { return base64.StdEncoding.EncodeToString(message) }

// Message returns the JSON text in the payload, which is UTF-8. The caller must parse the text strictly. The error is ErrPayload if there
// is no payload, if the base64 has another alphabet, no padding, line breaks or nonzero bits after the last byte, or if the text is not
// UTF-8.
func (e Envelope) Message() ([]byte, error) {
	message, err := base64.StdEncoding.Strict().DecodeString(e.Payload)
	if err != nil || len(message) == 0 || strings.ContainsAny(e.Payload, "\r\n") || !utf8.Valid(message) { // the library skips line breaks
		return nil, ErrPayload
	}
	return message, nil
}
