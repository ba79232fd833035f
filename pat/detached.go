package pat

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strings"
)

// The ways a detached signature is made; with the byte form they name what verified.
const (
	wayPKCS1    = "rsa-pkcs1v15" // RFC 8017 8.2, SHA-256
	wayPSS      = "rsa-pss"      // RFC 8017 8.1, SHA-256, any salt length
	wayRaw      = "ecdsa-p256-raw"
	wayDER      = "ecdsa-p256-der"
	wayEd25519  = "ed25519"
	minDER      = 8
	maxDER      = 72
	hexFromText = 97 // base64 of the longest DER signature has 96 characters
)

// detachedSignature decodes the text of a detached signature by the key: hex if it is exactly as long as
// the hex of one, else base64 or base64url. A wrong length is an error before anything is tried.
func detachedSignature(k Key, text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	size := k.signatureSize()
	_, curve := k.public.(*ecdsa.PublicKey)
	decode := decodeBase64
	if len(text) == 2*size || (curve && len(text) >= hexFromText && len(text) <= 2*maxDER) {
		decode = hex.DecodeString
	}
	if len(text) > 2*size+2*maxDER {
		return nil, because(ErrBadSignature, "the signature is longer than any by this key")
	}
	signature, err := decode(text)
	if err != nil {
		return nil, because(ErrBadSignature, "the signature is no hex, base64 or base64url text of the key's signature size")
	}
	if len(signature) != size && (!curve || len(signature) < minDER || len(signature) > maxDER) {
		return nil, because(ErrBadSignature, "the signature has %d bytes; one by this key has %d", len(signature), size)
	}
	return signature, nil
}

// verifyDetached tries the ways that fit the key, or only the one named, and returns which verified.
func verifyDetached(k Key, text []byte, sum [sha256.Size]byte, signature []byte, only string) (way string, ok bool) {
	try := func(name string, verify func() bool) bool {
		if (only != "" && only != name) || !verify() {
			return false
		}
		way = name
		return true
	}
	switch public := k.public.(type) {
	case ed25519.PublicKey:
		ok = try(wayEd25519, func() bool { return ed25519.Verify(public, text, signature) })
	case *rsa.PublicKey:
		ok = try(wayPKCS1, func() bool { return rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], signature) == nil }) ||
			try(wayPSS, func() bool {
				return rsa.VerifyPSS(public, crypto.SHA256, sum[:], signature, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto}) == nil
			})
	case *ecdsa.PublicKey:
		ok = try(wayRaw, func() bool {
			if len(signature) != 2*p256Size {
				return false
			}
			r, s := new(big.Int).SetBytes(signature[:p256Size]), new(big.Int).SetBytes(signature[p256Size:])
			return ecdsa.Verify(public, sum[:], r, s)
		}) || try(wayDER, func() bool { return ecdsa.VerifyASN1(public, sum[:], signature) })
	}
	return way, ok
}

// verifyOffer tries the forms of one policy.
func verifyOffer(k Key, o Offer, signature []byte) (f form, way string, ok bool) {
	for _, f := range o.forms {
		if way, ok := verifyDetached(k, f.text, f.sum, signature, ""); ok {
			return f, way, true
		}
	}
	return form{}, "", false
}
