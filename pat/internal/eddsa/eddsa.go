// Package eddsa verifies signatures of Ed25519 as crypto/ed25519 does, in two thirds of its time: of all that a call with a proof of key
// costs, that is the largest part. Where the module of FIPS 140-3 is required, it is the standard library that verifies.
package eddsa

import (
	"crypto/ed25519"
	"crypto/fips140"

	voi "github.com/oasisprotocol/curve25519-voi/primitives/ed25519"
)

// asStandard is the equation of RFC 8032 5.1.7 without the cofactor, with every encoding of a key that crypto/ed25519 reads.
var asStandard = voi.Options{Verify: voi.VerifyOptionsStdLib}

// Prepared is a public key with what makes verifying quicker: 1.5 KiB. It is safe for concurrent use.
type Prepared = voi.ExpandedPublicKey

// Prepare is for keys that are kept to verify many signatures. It returns nil where that changes nothing, or for what is no key.
func Prepare(public ed25519.PublicKey) *Prepared {
	if fips140.Enabled() {
		return nil
	}
	prepared, err := voi.NewExpandedPublicKey(voi.PublicKey(public))
	if err != nil {
		return nil
	}
	return prepared
}

// Verify is ed25519.Verify. prepared is that of the key, or nil.
func Verify(public ed25519.PublicKey, prepared *Prepared, message, signature []byte) bool {
	switch {
	case fips140.Enabled():
		return ed25519.Verify(public, message, signature)
	case prepared != nil:
		return voi.VerifyExpandedWithOptions(prepared, message, signature, &asStandard)
	default:
		return voi.VerifyWithOptions(voi.PublicKey(public), message, signature, &asStandard)
	}
}
