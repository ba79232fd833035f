// Package edkey checks Ed25519 public keys of others. crypto/ed25519 accepts weak keys, for which anyone can sign. If a key is a point of
// small order, such as the identity, one signature verifies for many messages.
package edkey

import (
	"bytes"
	"crypto/ed25519"
	"errors"

	"filippo.io/edwards25519"
)

// The errors of Check.
var (
	ErrSize      = errors.New("an Ed25519 key must have 32 bytes")
	ErrPoint     = errors.New("the key is not a point of edwards25519")
	ErrWeak      = errors.New("the Ed25519 key is a point of small order")
	ErrCanonical = errors.New("the Ed25519 key is not in its canonical encoding")
)

// Check returns one of the errors above unless a key is a point of edwards25519 in its canonical encoding (RFC 8032 5.1.3), and the point
// does not have small order.
func Check(public []byte) error {
	if len(public) != ed25519.PublicKeySize {
		return ErrSize
	}
	p, err := new(edwards25519.Point).SetBytes(public)
	switch {
	case err != nil:
		return ErrPoint
	case new(edwards25519.Point).MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 1:
		return ErrWeak
	case !bytes.Equal(p.Bytes(), public):
		return ErrCanonical
	}
	return nil
}
