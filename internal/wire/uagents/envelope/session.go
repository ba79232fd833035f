package envelope

import (
	"errors"
	"strings"

	"github.com/google/uuid"
)

// A Session is the id of a dialogue: a UUID of version 4 in lower case with hyphens, made by NewSession or ParseSession. Replies repeat
// it. It is not a secret.
type Session string

var errSession = errors.New("want a UUID of version 4")

// NewSession returns the id of a new dialogue.
func NewSession() Session { return Session(uuid.NewString()) }

// ParseSession reads a UUID of version 4 (RFC 9562) in any of the spellings that peers accept: upper case, without hyphens,
// in braces, behind urn:uuid:. What is signed is the one spelling of a Session.
func ParseSession(text string) (Session, error) {
	id, err := uuid.Parse(text)
	if err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 {
		return "", errSession
	}
	s := id.String()
	switch strings.ToLower(text) { // the library takes more, such as any two characters for braces
	case s, "{" + s + "}", "urn:uuid:" + s, strings.ReplaceAll(s, "-", ""):
		return Session(s), nil
	}
	return "", errSession
}
