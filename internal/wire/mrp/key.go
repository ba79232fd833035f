package mrp

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
)

// strict is the encoding of keys and signatures: base64url without padding, whose unused bits must be zero. A lenient decoder would accept
// four spellings of each key.
var strict = base64.RawURLEncoding.Strict()

// A Key is the Ed25519 public key of an agent. It identifies the agent.
type Key [ed25519.PublicKeySize]byte

// ErrKey means that a string is not a key.
var ErrKey = errors.New("a key must be 43 characters of canonical base64url without padding")

// ParseKey parses the text form of a key. It returns ErrKey if the text is invalid.
func ParseKey(text string) (k Key, err error) {
	if len(text) != strict.EncodedLen(len(k)) {
		return Key{}, ErrKey
	}
	if n, err := strict.Decode(k[:], []byte(text)); err != nil || n != len(k) {
		return Key{}, ErrKey
	}
	return k, nil
}

// KeyOf returns the public key that belongs to a private key.
func KeyOf(private ed25519.PrivateKey) (k Key) {
	copy(k[:], private[ed25519.SeedSize:])
	return k
}

// String returns the text form of the key.
func (k Key) String() string { return strict.EncodeToString(k[:]) }

// MarshalText returns the result of String.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText parses the key in the same way as ParseKey.
func (k *Key) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKey(string(text))
	return err
}

// Public returns the key as an ed25519.PublicKey.
func (k Key) Public() ed25519.PublicKey { return k[:] }

// A Digest is the SHA-256 digest of a body.
type Digest [sha256.Size]byte

// Sum returns the digest of a body, which may be empty.
func Sum(body []byte) Digest { return sha256.Sum256(body) }

// String returns the digest in base64url, the form that signatures cover.
func (d Digest) String() string { return strict.EncodeToString(d[:]) }
