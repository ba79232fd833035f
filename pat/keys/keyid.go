package keys

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/uimgate/uimgate/pat/keys/internal/secp256k1"
)

// An ID identifies a public key: the base64url of its SHA-256 thumbprint, 43 characters. See RFC 7638. See ParseID and Key.Thumbprint.
type ID string

// ParseID checks the form of s and returns s as an ID. It does not check whether such a key exists. The error is of kind ErrUnsupported.
func ParseID(s string) (ID, error) {
	if b, err := DecodeSegment(s); err != nil || len(b) != thumbprintSize {
		return "", keyErrorf(ErrUnsupported, "want the thumbprint (RFC 7638) of a key")
	}
	return ID(s), nil
}

const thumbprintSize = 32 // SHA-256

// AddressKey returns the key of an agent whose id is an address of another protocol: an uncompressed point on secp256k1, of 65 bytes.
// Such a key cannot verify a JWS or a detached signature: only Evidence proves possession of the key.
func AddressKey(address string, point []byte) Key {
	spki, members := secp256k1.Info(point)
	sum := sha256.Sum256(members)
	return Key{
		public: address, algorithm: secp256k1.Algorithm, thumbprint: ID(base64.RawURLEncoding.EncodeToString(sum[:])), spki: spki,
	}
}

// PointOf returns the point of an AddressKey from the SubjectPublicKeyInfo of the key. ok is false for any other kind of key.
func PointOf(spki []byte) (point []byte, ok bool) { return secp256k1.Point(spki) }
