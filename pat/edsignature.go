package pat

import (
	"crypto/ed25519"
	"crypto/fips140"

	voi "github.com/oasisprotocol/curve25519-voi/primitives/ed25519"
)

// asStandard is the equation of RFC 8032 5.1.7 without the cofactor, with every encoding of a key that crypto/ed25519 reads.
var asStandard = voi.Options{Verify: voi.VerifyOptionsStdLib}

// verifyEd25519 is ed25519.Verify, and takes two thirds of its time: of all that a call with a proof of key costs, its verification is the
// largest part. prepared is that of the key, or nil. Where the module of FIPS 140-3 is required, it is that of the standard library.
func verifyEd25519(public ed25519.PublicKey, prepared *voi.ExpandedPublicKey, message, signature []byte) bool {
	switch {
	case fips140.Enabled():
		return ed25519.Verify(public, message, signature)
	case prepared != nil:
		return voi.VerifyExpandedWithOptions(prepared, message, signature, &asStandard)
	default:
		return voi.VerifyWithOptions(voi.PublicKey(public), message, signature, &asStandard)
	}
}
