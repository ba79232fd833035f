package envelope

import (
	"errors"
	"strings"
)

// A ModelDigest identifies a type of message: "model:" followed by the SHA-256 of its schema in 64 lowercase hex digits.
type ModelDigest string

// A ProtocolDigest identifies a set of messages and their replies: "proto:" followed by 64 lowercase hex digits.
type ProtocolDigest string

var (
	errModelDigest    = errors.New("want model: followed by 64 lowercase hex digits")
	errProtocolDigest = errors.New("want proto: followed by 64 lowercase hex digits")
)

// ParseModelDigest parses the digest of a type of message.
func ParseModelDigest(text string) (ModelDigest, error) {
	if !isDigest(text, "model:") {
		return "", errModelDigest
	}
	return ModelDigest(text), nil
}

// ParseProtocolDigest parses the digest of a protocol.
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
