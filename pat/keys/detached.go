package keys

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// The schemes of detached signatures. The scheme, together with the byte form of the signed text, identifies the verification that
// succeeded.
const (
	schemePKCS1    = "rsa-pkcs1v15" // RFC 8017 8.2, SHA-256
	schemePSS      = "rsa-pss"      // RFC 8017 8.1, SHA-256, any salt length
	schemeECDSARaw = "ecdsa-p256-raw"
	schemeECDSADER = "ecdsa-p256-der"
	schemeEd25519  = "ed25519"
)

const (
	// minDER and maxDER bound the size of an ECDSA signature in DER, in bytes.
	minDER = 8
	maxDER = 72
	// hexFromText is the shortest text that is hex if the key is an ECDSA key: base64 of the longest DER signature has 96 characters.
	hexFromText = 97
)

// ParseSignature decodes the text of a detached signature that belongs to k. The text is hex if it has exactly the length of a signature in
// hex, or for an ECDSA key 97 to 144 characters; otherwise it is base64 or base64url. A signature of the wrong length is an error.
func ParseSignature(k Key, text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	size := k.signatureSize()
	_, curve := k.public.(*ecdsa.PublicKey)
	decode := decodeBase64
	if len(text) == 2*size || (curve && len(text) >= hexFromText && len(text) <= 2*maxDER) {
		decode = hex.DecodeString
	}
	if len(text) > 2*size+2*maxDER {
		return nil, errors.New("the signature is longer than any signature by this key")
	}
	signature, err := decode(text)
	if err != nil {
		return nil, errors.New("the signature is not hex, base64 or base64url of the length that the key requires")
	}
	switch {
	case len(signature) == size || curve && len(signature) >= minDER && len(signature) <= maxDER:
		return signature, nil
	case curve:
		return nil, fmt.Errorf("the signature has %d bytes; a signature by this key has %d bytes or, in DER, %d to %d",
			len(signature), size, minDER, maxDER)
	default:
		return nil, fmt.Errorf("the signature has %d bytes; a signature by this key has %d bytes", len(signature), size)
	}
}

// A DetachedSignature is a detached signature that is verified over several texts. With an RSA key, the expensive operation is done only
// once.
type DetachedSignature struct {
	key       Key
	signature []byte
	opened    rsaSignature // only for an RSA key
}

// NewDetached prepares a signature for verification with a key.
func NewDetached(k Key, signature []byte) DetachedSignature {
	d := DetachedSignature{key: k, signature: signature}
	if public, ok := k.public.(*rsa.PublicKey); ok {
		d.opened = openRSA(public, signature)
	}
	return d
}

// Verify verifies the signature over text, whose SHA-256 is sum, and returns the scheme that verified. It tries every scheme of the key or,
// if only is not empty, only the scheme with that name.
func (d DetachedSignature) Verify(text []byte, sum [sha256.Size]byte, only string) (scheme string, ok bool) {
	try := func(name string, verify func() bool) bool {
		if (only != "" && only != name) || !verify() {
			return false
		}
		scheme = name
		return true
	}
	switch public := d.key.public.(type) {
	case ed25519.PublicKey:
		ok = try(schemeEd25519, func() bool { return ed25519.Verify(public, text, d.signature) })
	case *rsa.PublicKey:
		ok = try(schemePKCS1, func() bool { return d.opened.isPKCS1(sum) }) || try(schemePSS, func() bool { return d.opened.isPSS(sum) })
	case *ecdsa.PublicKey:
		ok = try(schemeECDSARaw, func() bool {
			if len(d.signature) != 2*p256Size {
				return false
			}
			r, s := new(big.Int).SetBytes(d.signature[:p256Size]), new(big.Int).SetBytes(d.signature[p256Size:])
			return ecdsa.Verify(public, sum[:], r, s)
		}) || try(schemeECDSADER, func() bool { return ecdsa.VerifyASN1(public, sum[:], d.signature) })
	}
	return scheme, ok
}
