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

// A Signature is r and s of ECDSA over secp256k1, 32 bytes each, big-endian, without recovery byte. Many signatures of one digest verify:
// for every (r, s) also (r, n−s), and as many as the signer makes. Therefore a signature never distinguishes two messages. The zero
// Signature verifies nothing.
type Signature [2 * sizeScalar]byte

// ParseSignature parses sig1… (113 characters). Neither r nor s may be 0, or n or more. The errors are of kind ErrBech32 or ErrPrefix.
func ParseSignature(text string) (Signature, error) {
	bytes, err := decode(prefixSignature, text, len(Signature{}))
	if err != nil {
		return Signature{}, fmt.Errorf("the signature: %w", err)
	}
	s := Signature(bytes)
	if _, err := s.scalars(); err != nil {
		return Signature{}, fmt.Errorf("the signature: %w", err)
	}
	return s, nil
}

// String returns sig1….
func (s Signature) String() string { return encode(prefixSignature, s[:]) }

func (s Signature) scalars() (*ecdsa.Signature, error) {
	var r, v secp256k1.ModNScalar
	if r.SetByteSlice(s[:sizeScalar]) || v.SetByteSlice(s[sizeScalar:]) || r.IsZero() || v.IsZero() {
		return nil, fmt.Errorf("%w: r and s are between 0 and the order of the curve", ErrPrefix)
	}
	return ecdsa.NewSignature(&r, &v), nil
}
