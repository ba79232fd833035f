package agent

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/uimgate/uimgate/internal/privatefile"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	maxKeyFile = 64 << 10
	rsaBits    = 3072
)

// NewKey generates a key for keys.EdDSA, keys.ES256 or keys.RS256 (3072 bits). For any other algorithm, the error wraps ErrOptions.
func NewKey(algorithm string) (crypto.Signer, error) {
	switch algorithm {
	case keys.EdDSA:
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	case keys.ES256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case keys.RS256:
		return rsa.GenerateKey(rand.Reader, rsaBits)
	default:
		return nil, fmt.Errorf("%w: unknown algorithm %.20q: use %s, %s or %s", ErrOptions, algorithm, keys.EdDSA, keys.ES256, keys.RS256)
	}
}

// SaveKey writes a key as PEM (PKCS#8, RFC 5958) to a new file that only its owner can read (0600). It creates missing directories with
// mode 0700. It never overwrites a file. The error wraps ErrFile.
func SaveKey(path string, key crypto.Signer) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("%w: this type of key is not supported", ErrFile)
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w: the file already exists, and a lost key cannot be recovered", path, ErrFile)
	}
	return writePrivate(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// LoadKey reads a file written by SaveKey. It rejects a file that others can read. The error wraps ErrFile, and os.ErrNotExist if
// the file does not exist; it never quotes the contents of the file.
func LoadKey(path string) (crypto.Signer, error) {
	text, err := readPrivate(path, maxKeyFile)
	if err != nil {
		return nil, err
	}
	wrong := func(what string) error { return fmt.Errorf("%s: %w: %s", path, ErrFile, what) }
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, wrong(`want a PEM block "PRIVATE KEY" (PKCS#8), which uimgate agent keygen creates`)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, wrong("the PEM block does not contain a valid PKCS#8 key")
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, wrong("this type of key cannot sign")
	}
	if _, err := keys.New(key.Public()); err != nil {
		return nil, wrong(err.Error())
	}
	return key, nil
}

// Limits of the length of a seed, in bytes.
const (
	minSeed = 16
	maxSeed = 1000
)

// NewSeed generates the seed of an agent of the uAgents protocol: 64 random hex digits.
func NewSeed() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// SaveSeed writes a seed, which must be a single line, in the same way as SaveKey writes a key.
func SaveSeed(path, seed string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w: the file already exists, and a lost seed cannot be recovered", path, ErrFile)
	}
	return writePrivate(path, []byte(seed+"\n"))
}

// LoadSeed reads a file written by SaveSeed, or any file that contains a single line with a seed of 16 to 1000 bytes, and returns the key
// derived from the seed. Errors are those of LoadKey.
func LoadSeed(path string) (identity.Key, error) {
	text, err := readPrivate(path, maxSeed+2)
	if err != nil {
		return identity.Key{}, err
	}
	seed := strings.TrimRight(string(text), "\r\n")
	key, err := identity.FromSeed(seed, 0)
	if err != nil || len(seed) < minSeed || strings.ContainsAny(seed, "\r\n") {
		return identity.Key{}, fmt.Errorf("%s: %w: want one line with a seed of %d to %d bytes; "+
			"uimgate agent keygen --via uagents creates one",
			path, ErrFile, minSeed, maxSeed)
	}
	return key, nil
}

// writePrivate atomically and durably writes or replaces a file that only its owner can read. The error wraps ErrFile.
func writePrivate(path string, data []byte) error {
	if err := privatefile.Write(path, data); err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	return nil
}

func readPrivate(path string, maxBytes int64) ([]byte, error) {
	data, err := privatefile.Read(path, maxBytes)
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, privatefile.ErrOpen):
		return nil, fmt.Errorf("%s: %w: %w; run chmod 600 on it or, better, create a new key", path, ErrFile, err)
	case errors.Is(err, privatefile.ErrTooLarge):
		return nil, fmt.Errorf("%s: %w: the file is larger than %d bytes", path, ErrFile, maxBytes)
	default:
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
}
