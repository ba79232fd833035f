package pat

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	pemPrivate  = "PRIVATE KEY" // PKCS#8, RFC 5958
	rsaBits     = 3072          // of new RSA keys
	maxKeyFile  = 64 << 10
	maxKeyCount = 8
)

// newSigningKey makes a key pair.
func newSigningKey(algorithm string) (signingKey, error) {
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
		err = fmt.Errorf("there is no algorithm %q", algorithm)
	}
	if err != nil {
		return signingKey{}, fmt.Errorf("making a signing key: %w", err)
	}
	return signingKeyOf(private)
}

// writeSigningKeys writes the key that signs and, if there is one, the key before it.
func writeSigningKeys(first signingKey, before *signingKey) ([]byte, error) {
	keys := []signingKey{first}
	if before != nil {
		keys = append(keys, *before)
	}
	var out bytes.Buffer
	for _, k := range keys {
		der, err := k.pkcs8()
		if err != nil {
			return nil, err
		}
		if err := pem.Encode(&out, &pem.Block{Type: pemPrivate, Bytes: der}); err != nil {
			return nil, fmt.Errorf("writing a signing key: %w", err)
		}
	}
	return out.Bytes(), nil
}

var errKeyFile = errors.New("the signing keys are not PEM blocks \"PRIVATE KEY\" (PKCS#8) of Ed25519, P-256 or RSA keys; restore the " +
	"file, or remove it to start with a new key")

// parseSigningKeys reads the output of writeSigningKeys. The error never quotes the file.
func parseSigningKeys(text []byte) ([]signingKey, error) {
	if len(text) > maxKeyFile {
		return nil, errKeyFile
	}
	var out []signingKey
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
