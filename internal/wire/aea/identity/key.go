package identity

import (
	stdecdsa "crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// A Key is a private key of the gateway, either as an agent or as a node of the agent communication network. It is printed as its address.
// The zero Key has no address, and signs nothing.
type Key struct{ private *secp256k1.PrivateKey }

// NewKey returns the private key that consists of 32 big-endian bytes. The error is ErrKey if the length is different, or if the number is
// 0 or not below the order of the curve.
func NewKey(private []byte) (Key, error) {
	var scalar secp256k1.ModNScalar
	if len(private) != secp256k1.PrivKeyBytesLen || scalar.SetByteSlice(private) || scalar.IsZero() {
		return Key{}, ErrKey
	}
	return Key{secp256k1.NewPrivateKey(&scalar)}, nil
}

// Public returns the public key in the encoding of a ledger.
func (k Key) Public(ledger Ledger) PublicKey {
	if k.private == nil {
		return PublicKey{}
	}
	return PublicKey{ledger, k.private.PubKey()}
}

// String returns the address on Fetchai, so that the key never appears in a log.
func (k Key) String() string { return k.Public(Fetchai).Address() }

// GoString returns the result of String.
func (k Key) GoString() string { return k.String() }

// Sign signs a message. PublicKey.Verify accepts the signature. Equal messages have equal signatures (RFC 6979).
func (k Key) Sign(ledger Ledger, message []byte) string {
	if k.private == nil {
		return ""
	}
	if ledger == Ethereum {
		compact := ecdsa.SignCompact(k.private, personal(message), false) // v, r and s
		return "0x" + hex.EncodeToString(append(compact[1:65:65], compact[0]))
	}
	sum := sha256.Sum256(message)
	return base64.StdEncoding.EncodeToString(ecdsa.SignCompact(k.private, sum[:], true)[1:])
}

// SignCertificate returns the proof that a node owns the key of its certificate: a signature, in DER, over the SHA-256 of the
// certificate's key as an uncompressed point. Agents identify the node by its key on secp256k1, which a certificate cannot contain. The
// error is ErrKey if the certificate's key is not a point of a curve in the standard library.
func (k Key) SignCertificate(certificate *stdecdsa.PublicKey) ([]byte, error) {
	point, err := certificate.Bytes()
	if err != nil || k.private == nil {
		return nil, ErrKey
	}
	sum := sha256.Sum256(point)
	return ecdsa.Sign(k.private, sum[:]).Serialize(), nil
}
