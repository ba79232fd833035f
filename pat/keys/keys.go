package keys

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/internal/edkey"
)

// The signature algorithms of PATs, agreements and proofs. See RFC 7518, section 3.1; RFC 8037, section 3.1.
const (
	EdDSA = "EdDSA" // Ed25519
	ES256 = "ES256"
	RS256 = "RS256"
)

const (
	minRSABits  = 2048
	maxRSABits  = 4096
	rsaExponent = 65537
	p256Size    = 32
)

// A Key is a public key that is accepted as evidence: Ed25519, ECDSA P-256, RSA of 2048 to 4096 bits with the exponent 65537, or an
// AddressKey. The zero Key verifies nothing.
type Key struct {
	public     crypto.PublicKey
	algorithm  string
	thumbprint ID
	spki       []byte
}

// New makes a Key from an ed25519.PublicKey, *ecdsa.PublicKey or *rsa.PublicKey. The error is of kind ErrWeak or ErrUnsupported.
func New(public crypto.PublicKey) (Key, error) {
	k := Key{public: public}
	switch public := public.(type) {
	case ed25519.PublicKey:
		if err := checkEd25519(public); err != nil {
			return Key{}, err
		}
		k.algorithm = EdDSA
	case *ecdsa.PublicKey:
		if public == nil || public.Curve != elliptic.P256() {
			return Key{}, keyErrorf(ErrUnsupported, "the elliptic curve is not accepted: use P-256")
		}
		if _, err := public.ECDH(); err != nil {
			return Key{}, keyErrorf(ErrUnsupported, "the key is not a point on P-256")
		}
		k.algorithm = ES256
	case *rsa.PublicKey:
		if err := checkRSA(public); err != nil {
			return Key{}, err
		}
		k.algorithm = RS256
	default:
		return Key{}, ErrUnsupported
	}
	spki, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return Key{}, keyErrorf(ErrUnsupported, "the key cannot be encoded as SubjectPublicKeyInfo")
	}
	k.spki = spki
	sum := sha256.Sum256(k.members())
	k.thumbprint = ID(base64.RawURLEncoding.EncodeToString(sum[:]))
	return k, nil
}

// IsZero reports whether k is the zero Key.
func (k Key) IsZero() bool { return k.public == nil }

// Public returns the key in the form of package crypto. For an AddressKey, it returns the address as a string; for the zero Key, nil.
func (k Key) Public() crypto.PublicKey { return k.public }

// Algorithm returns the JOSE algorithm of the key: EdDSA, ES256 or RS256, or ES256K for an AddressKey.
func (k Key) Algorithm() string { return k.algorithm }

// Thumbprint returns the id of the key: base64url of the SHA-256 thumbprint of RFC 7638.
func (k Key) Thumbprint() ID { return k.thumbprint }

// SPKI returns the DER SubjectPublicKeyInfo of RFC 5280. Callers must not modify it.
func (k Key) SPKI() []byte { return k.spki }

// signatureSize returns the length of a signature in bytes. For ECDSA, it is the length of the raw form; the length of DER varies.
func (k Key) signatureSize() int {
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		return public.Size()
	case ed25519.PublicKey:
		return ed25519.SignatureSize
	default:
		return 2 * p256Size
	}
}

func checkRSA(public *rsa.PublicKey) error {
	if public == nil || public.N == nil {
		return ErrUnsupported
	}
	switch bits := public.N.BitLen(); {
	case bits < minRSABits:
		return keyErrorf(ErrWeak, "an RSA key of %d bits is too weak: use %d to %d", bits, minRSABits, maxRSABits)
	case bits > maxRSABits:
		return keyErrorf(ErrUnsupported, "an RSA key of %d bits is too long: use %d to %d", bits, minRSABits, maxRSABits)
	case public.N.Bit(0) == 0:
		return keyErrorf(ErrWeak, "the modulus of the RSA key is even")
	case public.E < rsaExponent:
		return keyErrorf(ErrWeak, "the exponent of the RSA key is too small: use %d", rsaExponent)
	case public.E > rsaExponent: // a larger exponent makes each verification more expensive
		return keyErrorf(ErrUnsupported, "the exponent of the RSA key is too large: use %d", rsaExponent)
	}
	return nil
}

// checkEd25519 rejects keys for which one signature is valid for many messages, and encodings that are not canonical.
func checkEd25519(public ed25519.PublicKey) error {
	err := edkey.Check(public)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, edkey.ErrWeak):
		return keyErrorf(ErrWeak, "%s", err)
	default:
		return keyErrorf(ErrUnsupported, "%s", err)
	}
}

const (
	pemPrivate  = "PRIVATE KEY" // PKCS#8, RFC 5958
	rsaBits     = 3072          // the size of new RSA keys
	maxKeyFile  = 64 << 10
	maxKeyCount = 8
)

// newSigningKey generates a key pair.
func newSigningKey(algorithm string) (PrivateKey, error) {
	var private any
	var err error
	switch algorithm {
	case EdDSA:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	case ES256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case RS256:
		private, err = rsa.GenerateKey(rand.Reader, rsaBits)
	default:
		err = fmt.Errorf("the algorithm %q is not supported", algorithm)
	}
	if err != nil {
		return PrivateKey{}, fmt.Errorf("generating a signing key: %w", err)
	}
	return signingKeyOf(private)
}

// writeSigningKeys encodes the signing key and, if there is one, the previous key.
func writeSigningKeys(keys []PrivateKey) ([]byte, error) {
	var out bytes.Buffer
	for _, k := range keys {
		der, err := k.pkcs8()
		if err != nil {
			return nil, err
		}
		if err := pem.Encode(&out, &pem.Block{Type: pemPrivate, Bytes: der}); err != nil {
			return nil, fmt.Errorf("encoding a signing key: %w", err)
		}
	}
	return out.Bytes(), nil
}

var errKeyFile = errors.New("the signing keys are not PEM blocks \"PRIVATE KEY\" (PKCS#8) of Ed25519, P-256 or RSA keys; restore the " +
	"file, or remove it to start with a new key")

// parseSigningKeys parses the output of writeSigningKeys. The error never quotes the file.
func parseSigningKeys(text []byte) ([]PrivateKey, error) {
	if len(text) > maxKeyFile {
		return nil, errKeyFile
	}
	var out []PrivateKey
	for text = bytes.TrimSpace(text); len(text) > 0; text = bytes.TrimSpace(text) {
		block, rest := pem.Decode(text)
		if block == nil || block.Type != pemPrivate || len(out) == maxKeyCount {
			return nil, errKeyFile
		}
		private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, errKeyFile
		}
		key, err := signingKeyOf(private)
		if err != nil {
			return nil, errKeyFile
		}
		out, text = append(out, key), rest
	}
	return out, nil
}
