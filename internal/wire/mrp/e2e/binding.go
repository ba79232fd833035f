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

// The members that bind the plaintext of a message to the parts that the relay can change. Recipients that do not know them ignore them,
// as the protocol requires for unknown members.
const (
	memberType    = "mrp_content_type" // the content type, which is also outside of the ciphertext
	memberAnswers = "mrp_answers"      // the Digest of the message that this one replies to
)

// ErrType means that the content type outside of the ciphertext is not the one that the sender sealed.
var ErrType = errors.New("its content type is not the one that its sender sealed")

// ErrAnswer means that a message replies to another one than its envelope names.
var ErrAnswer = errors.New("it answers another message, or does not name the one that it answers")

// Digest identifies an encrypted body by its ciphertext: equal for each delivery and each encoding of a relay. The error is ErrBody.
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

// Names reports whether the plaintext of an opened message names its content type.
func Names(m wire.Message) bool {
	return textAt(m.Body, memberType) == m.ContentType && m.ContentType != ""
}

// Answers returns ErrAnswer unless an opened message replies to the body with that Digest. Unless required is set, it accepts a message
// that does not name what it replies to.
func Answers(m wire.Message, digest string, required bool) error {
	named := textAt(m.Body, memberAnswers)
	if named == digest || named == "" && !required {
		return nil
	}
	return ErrAnswer
}

// bound returns the body of a message with the members that bind it. Bodies of other types, and those that are not objects, stay
// unchanged, because their recipients may not ignore a member.
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

// withMember returns an object with one more member at its end.
func withMember(object []byte, name string, value []byte) []byte {
	inside := bytes.TrimRight(object[:len(object)-1], " \t\r\n")
	out := append(make([]byte, 0, len(object)+len(name)+len(value)+8), inside...)
	if inside[len(inside)-1] != '{' {
		out = append(out, ',')
	}
	return append(append(append(out, '"'), name+`":`...), append(value, '}')...)
}

// textAt returns the text of a member; empty: there is none.
func textAt(document []byte, member string) (text string) {
	raw, ok := strictjson.Find(document, "/"+member)
	if !ok || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}
