package keys

import (
	"errors"
	"fmt"
)

// The errors about keys. The comments on ErrUnsupported and ErrWeak end with the reason that agents receive.
var (
	// ErrUnsupported means that the kind, form or use of the key is not accepted. UNSUPPORTED_KEY.
	ErrUnsupported = errors.New("the key is not an Ed25519, ECDSA P-256 or RSA public key in an accepted form")
	// ErrWeak means that the key is too weak to serve as evidence. WEAK_KEY.
	ErrWeak = errors.New("the key is too weak")
	// ErrNoKey means that no key has the id.
	ErrNoKey = errors.New("no signing key has that id")
)

// An Error describes what is wrong with a received key. It contains no part of the key.
type Error struct {
	Reason  string
	Private bool  // it is a private key
	kind    error // ErrUnsupported or ErrWeak
}

func (e *Error) Error() string { return e.Reason }

// Unwrap returns ErrUnsupported or ErrWeak.
func (e *Error) Unwrap() error { return e.kind }

// Unsupported returns an *Error of kind ErrUnsupported.
func Unsupported(why string) error { return keyErrorf(ErrUnsupported, "%s", why) }

func keyErrorf(kind error, format string, args ...any) error {
	return &Error{Reason: fmt.Sprintf(format, args...), kind: kind}
}
