package identity

import (
	"crypto/sha256"
	"errors"
	"unicode/utf8"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// ErrKey means that a private key or a seed is invalid.
var ErrKey = errors.New("not a private key on secp256k1")

// A Key is an agent's private key. It is printed as its address. The zero Key has no address, and its signatures never verify.
type Key struct{ private *secp256k1.PrivateKey }

// NewKey returns the private key that consists of 32 big-endian bytes. The error is ErrKey if the length is different, or if the number is
// 0 or not below the order of the curve.
func NewKey(private []byte) (Key, error) {
	var scalar secp256k1.ModNScalar
	if len(private) != sizeScalar || scalar.SetByteSlice(private) || scalar.IsZero() {
		return Key{}, ErrKey
	}
	return Key{secp256k1.NewPrivateKey(&scalar)}, nil
}

// FromSeed derives the key with the given index, normally 0, from a seed, which is a secret string in UTF-8. Every implementation of the
// protocol derives the same key. The error is ErrKey if the seed is empty or not valid UTF-8.
func FromSeed(seed string, index uint8) (Key, error) {
	if seed == "" || !utf8.ValidString(seed) {
		return Key{}, ErrKey
	}
	place := sha256.Sum256(append([]byte(prefixAgent), index))
	secret := sha256.Sum256([]byte(seed))
	private := sha256.Sum256(append(place[:], secret[:]...))
	return NewKey(private[:])
}

// Address returns the address of the agent that holds the key.
func (k Key) Address() Address {
	if k.private == nil {
		return ""
	}
	return Address(encode(prefixAgent, k.private.PubKey().SerializeCompressed()))
}

// Sign signs a SHA-256 digest. Equal digests have equal signatures (RFC 6979). The signature has the lower of the two valid values of s.
func (k Key) Sign(digest [32]byte) Signature {
	if k.private == nil {
		return Signature{}
	}
	compact := ecdsa.SignCompact(k.private, digest[:], true)
	return Signature(compact[1:]) // without the recovery byte
}

// String returns the address, so that the key never appears in a log.
func (k Key) String() string { return string(k.Address()) }

// GoString returns the result of String.
func (k Key) GoString() string { return k.String() }
