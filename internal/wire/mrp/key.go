package mrp

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
)

// strict is the encoding of keys and signatures: base64url without padding, whose unused bits must be zero. A lenient decoder accepts
// four spellings of one key.
var strict = base64.RawURLEncoding.Strict()

// A Key is an agent: its Ed25519 public key. Two agents are the same if their keys are equal.
type Key [ed25519.PublicKeySize]byte

// ErrKey means that a text is not a key: 43 characters of base64url in the canonical spelling.
var ErrKey = errors.New("a key is 43 characters of base64url without padding, in its only spelling")

// ParseKey parses a key. The error is ErrKey.
func ParseKey(text string) (k Key, err error) {
	if len(text) != strict.EncodedLen(len(k)) {
		return Key{}, ErrKey
	}
	if n, err := strict.Decode(k[:], []byte(text)); err != nil || n != len(k) {
		return Key{}, ErrKey
	}
	return k, nil
}

// KeyOf returns the key of an agent whose private half is known.
func KeyOf(private ed25519.PrivateKey) (k Key) {
	copy(k[:], private[ed25519.SeedSize:])
	return k
}

// String returns the text form of the key.
func (k Key) String() string { return strict.EncodeToString(k[:]) }

// MarshalText is String.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is ParseKey.
func (k *Key) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKey(string(text))
	return err
}

// Public returns the key in the library's type.
func (k Key) Public() ed25519.PublicKey { return k[:] }

// A Digest is the SHA-256 of a body.
type Digest [sha256.Size]byte

// Sum returns the digest of a body, which may be empty.
func Sum(body []byte) Digest { return sha256.Sum256(body) }

// String returns the digest in the form that a signature covers.
func (d Digest) String() string { return strict.EncodeToString(d[:]) }
