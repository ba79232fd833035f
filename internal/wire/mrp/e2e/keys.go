package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha512"
	"errors"
	"fmt"

	"filippo.io/edwards25519"
	"github.com/cloudflare/circl/hpke"
	"github.com/cloudflare/circl/kem"

	"github.com/uimgate/uimgate/internal/edkey"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// ErrKey means that a key cannot be used for sealing or opening: it is not a canonical point of the curve, or it has small order. With a
// point of small order, everyone computes the same shared secret.
var ErrKey = errors.New("the key cannot be used for encryption")

// suite is the protocol's cipher suite. See RFC 9180, section 7.
var suite = hpke.NewSuite(hpke.KEM_X25519_HKDF_SHA256, hpke.KDF_HKDF_SHA256, hpke.AEAD_ChaCha20Poly1305)

var scheme = hpke.KEM_X25519_HKDF_SHA256.Scheme()

// The info and aad inputs of HPKE. They are empty, because the protocol's pages do not define them.
const (
	info = ""
	aad  = ""
)

// Sizes in bytes.
const (
	encSize = 32 // an encapsulated key
	tagSize = 16 // the tag that ChaCha20-Poly1305 appends
)

// public returns the X25519 key of an agent: u = (1+y)/(1-y). See RFC 7748, section 4.1.
func public(k wire.Key) ([]byte, error) {
	if edkey.Check(k[:]) != nil {
		return nil, ErrKey
	}
	p, err := new(edwards25519.Point).SetBytes(k[:])
	if err != nil {
		return nil, ErrKey
	}
	return p.BytesMontgomery(), nil
}

// secret returns the private key that belongs to public: the scalar that Ed25519 derives from the seed. See RFC 8032, section 5.1.5.
func secret(private ed25519.PrivateKey) []byte {
	h := sha512.Sum512(private.Seed())
	h[0] &= 248
	h[31] = h[31]&127 | 64
	return h[:32]
}

func pair(private ed25519.PrivateKey, peer wire.Key) (kem.PrivateKey, kem.PublicKey, error) {
	u, err := public(peer)
	if err != nil {
		return nil, nil, err
	}
	theirs, err := scheme.UnmarshalBinaryPublicKey(u)
	if err != nil {
		return nil, nil, ErrKey
	}
	own, err := scheme.UnmarshalBinaryPrivateKey(secret(private))
	return own, theirs, err
}

// seal encrypts plaintext with a new HPKE context.
func seal(private ed25519.PrivateKey, to wire.Key, plaintext []byte) (enc, ct []byte, err error) {
	own, theirs, err := pair(private, to)
	if err != nil {
		return nil, nil, err
	}
	sender, err := suite.NewSender(theirs, []byte(info))
	if err != nil {
		return nil, nil, err
	}
	enc, sealer, err := sender.SetupAuth(rand.Reader, own)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	ct, err = sealer.Seal(plaintext, []byte(aad))
	return enc, ct, err
}

// open is the inverse of seal. The error is ErrKey or ErrOpen.
func open(private ed25519.PrivateKey, from wire.Key, enc, ct []byte) ([]byte, error) {
	own, theirs, err := pair(private, from)
	if err != nil {
		return nil, err
	}
	receiver, err := suite.NewReceiver(own, []byte(info))
	if err != nil {
		return nil, ErrOpen
	}
	opener, err := receiver.SetupAuth(enc, theirs)
	if err != nil { // for example because enc is a point of small order
		return nil, ErrOpen
	}
	plaintext, err := opener.Open(ct, []byte(aad))
	if err != nil {
		return nil, ErrOpen
	}
	return plaintext, nil
}
