package e2e

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// Version is the only supported version of the layout of an encrypted body. It uses HPKE in Auth mode. The protocol's pages describe no
// other version.
const Version = 2

// The errors of Open. They never quote the sealed content.
var (
	ErrBody    = errors.New("the body is not a valid encrypted body")
	ErrVersion = errors.New("the version of the encrypted body is not 2")
	ErrOpen    = errors.New("decryption failed: the named sender did not encrypt the content for this key, or the content has changed")
	ErrSize    = errors.New("the content is too large: send what does not fit in a message as an encrypted blob")
)

// Seal encrypts plaintext for one agent, and returns the body of a message of type wire.TypeEncrypted. contentType is the content type of
// the plaintext. The error wraps ErrKey, ErrSize, or ErrBody for an invalid content type.
func Seal(private ed25519.PrivateKey, to wire.Key, contentType string, plaintext []byte) ([]byte, error) {
	if !isType(contentType) {
		return nil, fmt.Errorf("%w: the content type must be 1 to %d characters long", ErrBody, wire.MaxContentType)
	}
	if base64.RawURLEncoding.EncodedLen(len(plaintext)+tagSize) > wire.MaxBody {
		return nil, ErrSize
	}
	enc, ct, err := seal(private, to, plaintext)
	if err != nil {
		return nil, err
	}
	w := strictjson.NewWriter(make([]byte, 0, 256+base64.RawURLEncoding.EncodedLen(len(ct))))
	w.JSON("v", fmt.Append(nil, Version))
	w.Text("enc", write(enc))
	w.Text("ct", write(ct))
	w.Text("ct_content_type", contentType)
	body, err := w.End()
	if err == nil && len(body) > wire.MaxBody {
		return nil, ErrSize
	}
	return body, err
}

// Open decrypts the body of a message of type wire.TypeEncrypted. from is the sender that the message names. The error is ErrBody,
// ErrVersion, ErrKey, ErrOpen or ErrSize; in that case Open returns no content.
func Open(private ed25519.PrivateKey, from wire.Key, body []byte) (contentType string, plaintext []byte, err error) {
	if len(body) > wire.MaxBody {
		return "", nil, ErrSize
	}
	tree, err := strictjson.DecodeObject(body)
	if err != nil {
		return "", nil, ErrBody
	}
	if tree.Number("v") != "2" {
		return "", nil, ErrVersion
	}
	contentType = tree.Text("ct_content_type")
	enc, good := read(tree.Text("enc"))
	ct, whole := read(tree.Text("ct"))
	if !good || !whole || len(enc) != encSize || len(ct) < tagSize || !isType(contentType) {
		return "", nil, ErrBody
	}
	if plaintext, err = open(private, from, enc, ct); err != nil {
		return "", nil, err
	}
	return contentType, plaintext, nil
}

func isType(text string) bool {
	return text != "" && utf8.RuneCountInString(text) <= wire.MaxContentType && wire.Shown(text)
}

// write encodes bytes in base64url without padding, like all other bytes in the protocol.
func write(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// read decodes the encoding of write, and also standard base64 with padding, which most libraries write. It accepts only the canonical
// spelling of each.
func read(text string) ([]byte, bool) {
	encoding := base64.RawURLEncoding
	if strings.ContainsAny(text, "+/=") {
		encoding = base64.StdEncoding
	}
	b, err := encoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // the library skips line breaks
		return nil, false
	}
	return b, true
}
