package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// These members bind the plaintext of a message to the parts of the message that the relay can change. Recipients that do not support them
// ignore them, as the protocol requires for unknown members.
const (
	memberType    = "mrp_content_type" // the content type, which is also sent outside the ciphertext
	memberAnswers = "mrp_answers"      // the Digest of the message that this one replies to
)

// ErrType means that the content type outside the ciphertext is not the one that the sender sealed.
var ErrType = errors.New("the content type of the message is not the one that the sender sealed")

// ErrAnswer means that the plaintext of a message names a different message as the one that it replies to, or names none.
var ErrAnswer = errors.New("the message is a reply to another message, or does not name the message that it replies to")

// Digest returns a digest of the ciphertext in an encrypted body. The digest stays the same if a relay delivers the body again or encodes
// it differently. The error is ErrBody.
func Digest(body []byte) (string, error) {
	tree, err := strictjson.DecodeObject(body)
	if err != nil {
		return "", ErrBody
	}
	enc, good := read(tree.Text("enc"))
	ct, whole := read(tree.Text("ct"))
	if !good || !whole || len(enc) != encSize {
		return "", ErrBody
	}
	sum := sha256.Sum256(append(enc, ct...))
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// Names reports whether the plaintext of an opened message contains the content type of the message.
func Names(m wire.Message) bool {
	return textAt(m.Body, memberType) == m.ContentType && m.ContentType != ""
}

// Answers returns nil if an opened message is a reply to the body with the given Digest, and ErrAnswer otherwise. If required is false, it
// also accepts a message that does not name the message that it replies to.
func Answers(m wire.Message, digest string, required bool) error {
	named := textAt(m.Body, memberAnswers)
	if named == digest || named == "" && !required {
		return nil
	}
	return ErrAnswer
}

// bound adds the binding members to the body of a message. It leaves bodies of other types, and bodies that are not objects, unchanged,
// because their recipients may not ignore unknown members. The error is ErrBody if the body has a binding member with another value.
func bound(contentType string, body []byte, answers string) ([]byte, error) {
	switch contentType {
	case wire.TypeRequest, wire.TypeResponse, wire.TypeEvent, wire.TypeStatus:
	default:
		return body, nil
	}
	body = bytes.TrimSpace(body)
	if !strictjson.IsObject(body) {
		return body, nil
	}
	for name, want := range map[string]string{memberType: contentType, memberAnswers: answers} {
		_, there := strictjson.Find(body, "/"+name)
		switch {
		case there && textAt(body, name) == want, !there && want == "":
			continue
		case there:
			return nil, ErrBody
		}
		raw, err := strictjson.Append(nil, want)
		if err != nil {
			return nil, ErrBody
		}
		body = withMember(body, name, raw)
	}
	return body, nil
}

// withMember returns a JSON object with one member added at its end.
func withMember(object []byte, name string, value []byte) []byte {
	inside := bytes.TrimRight(object[:len(object)-1], " \t\r\n")
	out := append(make([]byte, 0, len(object)+len(name)+len(value)+8), inside...)
	if inside[len(inside)-1] != '{' {
		out = append(out, ',')
	}
	return append(append(append(out, '"'), name+`":`...), append(value, '}')...)
}

// textAt returns a string member of a JSON object, or "" if there is none.
func textAt(document []byte, member string) (text string) {
	raw, ok := strictjson.Find(document, "/"+member)
	if !ok || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}
