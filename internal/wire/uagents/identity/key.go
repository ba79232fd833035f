package identity

import (
	"crypto/sha256"
	"errors"
	"unicode/utf8"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// ErrKey means that a private key or a seed is invalid.
var ErrKey = errors.New("no private key of secp256k1")

// A Key is an agent's private key. It prints as its address. The zero Key has no address, and its signatures never verify.
type Key struct{ private *secp256k1.PrivateKey }

// NewKey returns the key of 32 bytes, big-endian. The error is ErrKey: another length, 0, or the order of the curve or more.
func NewKey(private []byte) (Key, error) {
	var scalar secp256k1.ModNScalar
	if len(private) != sizeScalar || scalar.SetByteSlice(private) || scalar.IsZero() {
		return Key{}, ErrKey
	}
	return Key{secp256k1.NewPrivateKey(&scalar)}, nil
}

// FromSeed derives the key with that index, normally 0, from a seed: secret text in UTF-8. Every implementation of the protocol derives
// the same key. The error is ErrKey for an empty seed and for one that is not UTF-8.
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

// Sign signs a SHA-256 digest: equal digests have equal signatures (RFC 6979), with the lower value of s.
func (k Key) Sign(digest [32]byte) Signature {
	if k.private == nil {
		return Signature{}
	}
	compact := ecdsa.SignCompact(k.private, digest[:], true)
	return Signature(compact[1:]) // without the recovery byte
}

// String returns the address, so that the key never gets into a log.
func (k Key) String() string { return string(k.Address()) }

// GoString is String.
func (k Key) GoString() string { return k.String() }
