package identity

import (
	"fmt"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

const (
	prefixSignature = "sig"
	sizeScalar      = 32
)

// A Signature is an ECDSA signature over secp256k1: r and s, each in 32 big-endian bytes, without a recovery byte. One digest has many
// valid signatures: the signer can make any number of them, and if (r, s) is valid, so is (r, n−s). Different signatures therefore do not
// prove that messages are different. The zero Signature is never valid.
type Signature [2 * sizeScalar]byte

// ParseSignature parses sig1… (113 characters). Both r and s must be above 0 and below n, the order of the curve. The error wraps
// ErrBech32 or ErrPrefix.
func ParseSignature(text string) (Signature, error) {
	bytes, err := decode(prefixSignature, text, len(Signature{}))
	if err != nil {
		return Signature{}, fmt.Errorf("invalid signature: %w", err)
	}
	s := Signature(bytes)
	if _, err := s.scalars(); err != nil {
		return Signature{}, fmt.Errorf("invalid signature: %w", err)
	}
	return s, nil
}

// String returns the signature in bech32, as sig1….
func (s Signature) String() string { return encode(prefixSignature, s[:]) }

func (s Signature) scalars() (*ecdsa.Signature, error) {
	var r, v secp256k1.ModNScalar
	if r.SetByteSlice(s[:sizeScalar]) || v.SetByteSlice(s[sizeScalar:]) || r.IsZero() || v.IsZero() {
		return nil, fmt.Errorf("%w: r and s must be above 0 and below the order of the curve", ErrPrefix)
	}
	return ecdsa.NewSignature(&r, &v), nil
}
