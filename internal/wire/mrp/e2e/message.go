package e2e

import (
	"cmp"
	"crypto/ed25519"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// SealSend encrypts the body of a message for its recipient. All other members stay readable. If the content type is one of the protocol's
// own, the plaintext contains it, so that OpenMessage detects a change by the relay. The errors are those of Seal.
func SealSend(private ed25519.PrivateKey, s wire.Send) (wire.Send, error) {
	return sealSend(private, s, "")
}

// SealAnswer is like SealSend, but seals a reply to a message with an encrypted body, the parameter to. The plaintext contains the Digest
// of that body, so that a relay cannot present the reply as one to another message.
func SealAnswer(private ed25519.PrivateKey, s wire.Send, to []byte) (wire.Send, error) {
	digest, err := Digest(to)
	if err != nil {
		return wire.Send{}, err
	}
	return sealSend(private, s, digest)
}

func sealSend(private ed25519.PrivateKey, s wire.Send, answers string) (wire.Send, error) {
	inner := cmp.Or(s.ContentType, wire.TypeJSON)
	plaintext, err := bound(inner, s.Body, answers)
	if err != nil {
		return wire.Send{}, err
	}
	if isText(inner) {
		v, err := strictjson.Decode(s.Body)
		text, ok := v.(string)
		if err != nil || !ok {
			return wire.Send{}, ErrBody
		}
		plaintext = []byte(text)
	}
	body, err := Seal(private, s.Recipient, inner, plaintext)
	if err != nil {
		return wire.Send{}, err
	}
	s.ContentType, s.Body = wire.TypeEncrypted, body
	return s, nil
}

// OpenMessage returns a message with the body and the content type that its sender sealed. The error is one of Open, or ErrType if the
// sender sealed a different content type. It is also ErrBody if the sealed body does not have the form that its type requires (JSON, or
// text in UTF-8), or is itself encrypted.
func OpenMessage(private ed25519.PrivateKey, m wire.Message) (wire.Message, error) {
	if m.ContentType != wire.TypeEncrypted {
		return wire.Message{}, ErrBody
	}
	inner, plaintext, err := Open(private, m.Sender, m.Body)
	if err != nil {
		return wire.Message{}, err
	}
	if named := textAt(plaintext, memberType); named != "" && named != inner {
		return wire.Message{}, ErrType
	}
	body := plaintext
	if isText(inner) {
		if !utf8.Valid(plaintext) {
			return wire.Message{}, ErrBody
		}
		if body, err = strictjson.Append(nil, string(plaintext)); err != nil {
			return wire.Message{}, ErrBody
		}
	}
	if inner == wire.TypeEncrypted || !strictjson.Valid(body) {
		return wire.Message{}, ErrBody
	}
	m.ContentType, m.Body = inner, body
	return m, nil
}

// isText reports whether a body of this type is text. Text is sealed as plain characters, not as a JSON string.
func isText(contentType string) bool {
	return strings.HasPrefix(strings.ToLower(contentType), "text/")
}
