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

// The schemes of a detached signature. Together with the byte form they name what was verified.
const (
	schemePKCS1    = "rsa-pkcs1v15" // RFC 8017 8.2, SHA-256
	schemePSS      = "rsa-pss"      // RFC 8017 8.1, SHA-256, any salt length
	schemeECDSARaw = "ecdsa-p256-raw"
	schemeECDSADER = "ecdsa-p256-der"
	schemeEd25519  = "ed25519"
	minDER         = 8
	maxDER         = 72
	hexFromText    = 97 // base64 of the longest DER signature has 96 characters
)

// ParseSignature decodes the text of a detached signature according to the key: hex if its length is exactly that of hex, base64 or
// base64url otherwise. A wrong length is an error before any verification.
func ParseSignature(k Key, text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	size := k.signatureSize()
	_, curve := k.public.(*ecdsa.PublicKey)
	decode := decodeBase64
	if len(text) == 2*size || (curve && len(text) >= hexFromText && len(text) <= 2*maxDER) {
		decode = hex.DecodeString
	}
	if len(text) > 2*size+2*maxDER {
		return nil, errors.New("the signature is longer than any by this key")
	}
	signature, err := decode(text)
	if err != nil {
		return nil, errors.New("the signature is not a hex, base64 or base64url text of the key's signature size")
	}
	if len(signature) != size && (!curve || len(signature) < minDER || len(signature) > maxDER) {
		return nil, fmt.Errorf("the signature has %d bytes; one by this key has %d", len(signature), size)
	}
	return signature, nil
}

// A DetachedSignature is a detached signature that is compared with several texts. For RSA the costly operation is done once.
type DetachedSignature struct {
	key       Key
	signature []byte
	opened    rsaSignature // where the key is one of RSA
}

// NewDetached returns the signature with a key that may have made it.
func NewDetached(k Key, signature []byte) DetachedSignature {
	d := DetachedSignature{key: k, signature: signature}
	if public, ok := k.public.(*rsa.PublicKey); ok {
		d.opened = openRSA(public, signature)
	}
	return d
}

// Verify tries the schemes that fit the key (or only the one named by only) and returns the one that verified.
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
