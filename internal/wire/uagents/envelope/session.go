package envelope

import (
	"errors"
	"strings"

	"github.com/google/uuid"
)

// A Session is the id of a dialogue: a lowercase UUID of version 4 with hyphens, as returned by NewSession or ParseSession. All messages
// of a dialogue have the same id. It is not a secret.
type Session string

var errSession = errors.New("want a UUID of version 4")

// NewSession returns the id of a new dialogue.
func NewSession() Session { return Session(uuid.NewString()) }

// ParseSession parses a UUID of version 4 (RFC 9562) in any of the spellings that peers accept: uppercase, without hyphens, in braces, or
// after urn:uuid:. Signatures cover the canonical spelling, which ParseSession returns.
func ParseSession(text string) (Session, error) {
	id, err := uuid.Parse(text)
	if err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 {
		return "", errSession
	}
	s := id.String()
	switch strings.ToLower(text) { // the library accepts more, such as any two characters instead of braces
	case s, "{" + s + "}", "urn:uuid:" + s, strings.ReplaceAll(s, "-", ""):
		return Session(s), nil
	}
	return "", errSession
}
