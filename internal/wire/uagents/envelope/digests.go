package envelope

import (
	"errors"
	"strings"
)

// A ModelDigest names a type of message: model: and 64 lowercase hex digits, the SHA-256 of its schema.
type ModelDigest string

// A ProtocolDigest names a set of messages and their replies: proto: and 64 lowercase hex digits.
type ProtocolDigest string

var (
	errModelDigest    = errors.New("want model: and 64 lower-case hex digits")
	errProtocolDigest = errors.New("want proto: and 64 lower-case hex digits")
)

// ParseModelDigest reads the digest of a type of message.
func ParseModelDigest(text string) (ModelDigest, error) {
	if !isDigest(text, "model:") {
		return "", errModelDigest
	}
	return ModelDigest(text), nil
}

// ParseProtocolDigest reads the digest of a protocol.
func ParseProtocolDigest(text string) (ProtocolDigest, error) {
	if !isDigest(text, "proto:") {
		return "", errProtocolDigest
	}
	return ProtocolDigest(text), nil
}

func isDigest(text, kind string) bool {
	digits, ok := strings.CutPrefix(text, kind)
	return ok && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}
