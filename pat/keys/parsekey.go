package keys

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// maxKeyText is the maximum size of a public key as sent, in bytes. An RSA key of 4096 bits needs 1.1 KiB as base64 of PEM.
const maxKeyText = 16 << 10

// Parse parses a public key in any of the forms that agents send. These are a JWK, PEM (SubjectPublicKeyInfo, or PKCS#1 for RSA), and
// base64 or base64url of such PEM, of a DER SubjectPublicKeyInfo or of a raw Ed25519 key. It rejects certificates and private keys. The
// error is of kind ErrWeak or ErrUnsupported.
func Parse(text string) (Key, error) {
	if len(text) > maxKeyText {
		return Key{}, keyErrorf(ErrUnsupported, "a public key may have at most %d bytes", maxKeyText)
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return Key{}, keyErrorf(ErrUnsupported, "the public key is empty")
	case strings.HasPrefix(text, "-----"):
		return fromPEM([]byte(text))
	case strings.HasPrefix(text, "{"):
		return ParseJWK([]byte(text))
	}
	b, err := decodeBase64(text)
	if err != nil {
		return Key{}, keyErrorf(ErrUnsupported, "the public key is neither PEM, JWK nor base64")
	}
	switch {
	case len(b) == ed25519.PublicKeySize:
		return New(ed25519.PublicKey(b))
	case bytes.HasPrefix(bytes.TrimSpace(b), []byte("-----")):
		return fromPEM(bytes.TrimSpace(b))
	default:
		return ParseSPKI(b)
	}
}

// ParseValue is like Parse, for a value that package strictjson has decoded: a string in one of these forms, or a JWK as an object.
func ParseValue(v any) (Key, error) {
	switch v := v.(type) {
	case string:
		return Parse(v)
	case map[string]any:
		return FromJWK(v)
	default:
		return Key{}, keyErrorf(ErrUnsupported, "a public key must be a string or a JWK, not %s", strictjson.Kind(v))
	}
}

// ParseJWK parses a public key in the form of a JWK (RFC 7517). The error is of kind ErrWeak or ErrUnsupported.
func ParseJWK(raw []byte) (Key, error) {
	if len(raw) > maxKeyText {
		return Key{}, keyErrorf(ErrUnsupported, "a public key may have at most %d bytes", maxKeyText)
	}
	jwk, err := strictjson.DecodeObject(raw)
	if err != nil {
		return Key{}, keyErrorf(ErrUnsupported, "the JWK must be one JSON object without duplicate members")
	}
	return FromJWK(jwk)
}

// ParseSPKI parses a DER SubjectPublicKeyInfo. The error is of kind ErrWeak or ErrUnsupported.
func ParseSPKI(der []byte) (Key, error) {
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil && isPrivate(der) {
		return Key{}, privateKey("this is a private key")
	}
	if err != nil {
		return Key{}, keyErrorf(ErrUnsupported, "the public key is not a SubjectPublicKeyInfo of an accepted type")
	}
	return New(public)
}

// privateKey returns the error for a private key.
func privateKey(what string) error {
	return &Error{
		Reason: what + ": send only a public key, and use a new key pair, because this private key has been disclosed", Private: true, kind: ErrUnsupported,
	}
}

// isPrivate reports whether der is a private key in PKCS#8, PKCS#1 or SEC 1.
func isPrivate(der []byte) bool {
	if _, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return true
	}
	if _, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return true
	}
	_, err := x509.ParseECPrivateKey(der)
	return err == nil
}

func fromPEM(text []byte) (Key, error) {
	block, rest := pem.Decode(text)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return Key{}, keyErrorf(ErrUnsupported, "the public key must be a single PEM block")
	}
	switch {
	case block.Type == "PUBLIC KEY":
		return ParseSPKI(block.Bytes)
	case block.Type == "RSA PUBLIC KEY":
		public, err := x509.ParsePKCS1PublicKey(block.Bytes)
		if err != nil {
			return Key{}, keyErrorf(ErrUnsupported, "the PEM block does not contain a valid PKCS#1 public key")
		}
		return New(public)
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return Key{}, privateKey("this is a private key")
	default:
		return Key{}, keyErrorf(ErrUnsupported, `the PEM block is not a "PUBLIC KEY" (certificates are not accepted)`)
	}
}

// decodeBase64 accepts both alphabets, with and without padding and line breaks.
func decodeBase64(text string) ([]byte, error) {
	text = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\r', '\n':
			return -1
		case '+':
			return '-'
		case '/':
			return '_'
		}
		return r
	}, text)
	body := strings.TrimRight(text, "=")
	if len(text)-len(body) > 2 {
		return nil, base64.CorruptInputError(len(body))
	}
	return base64.RawURLEncoding.Strict().DecodeString(body)
}
