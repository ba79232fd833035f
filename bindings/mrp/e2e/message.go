package e2e

import (
	"crypto/ed25519"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/bindings/mrp/wire"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// SealSend encrypts the body of a message for its recipient. Everything else stays for all to see. The errors are those of Seal.
func SealSend(private ed25519.PrivateKey, s wire.Send) (wire.Send, error) {
	inner := s.ContentType
	if inner == "" {
		inner = wire.TypeJSON
	}
	plaintext := []byte(s.Body)
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

// OpenMessage returns a message with the body and the content type that its sender sealed. The errors are those of Open; ErrBody as
// well if what was sealed is neither JSON nor a text, as its type says, or is encrypted once more.
func OpenMessage(private ed25519.PrivateKey, m wire.Message) (wire.Message, error) {
	if m.ContentType != wire.TypeEncrypted {
		return wire.Message{}, ErrBody
	}
	inner, plaintext, err := Open(private, m.Sender, m.Body)
	if err != nil {
		return wire.Message{}, err
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

// isText reports whether a body of this type is a text, which is sealed as its characters and not as JSON.
func isText(contentType string) bool {
	return strings.HasPrefix(strings.ToLower(contentType), "text/")
}
