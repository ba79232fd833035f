package client

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"github.com/uimgate/uimgate/internal/privatefile"
)

// ErrKeyFile means that a file does not contain a key, that others can read the file, or that the file cannot be written.
var ErrKeyFile = errors.New("the key file cannot be used")

// NewKey generates a key for an agent.
func NewKey() ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails
	return ed25519.NewKeyFromSeed(seed)
}

// SaveKey writes the 32 bytes of a key's seed to a new file that only its owner can read (0600). It creates missing directories with mode
// 0700. It never overwrites a file. The error wraps ErrKeyFile.
func SaveKey(path string, key ed25519.PrivateKey) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w: the file already exists, and a lost key cannot be recovered", path, ErrKeyFile)
	}
	if err := privatefile.Write(path, key.Seed()); err != nil {
		return fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	return nil
}

// LoadKey reads a file written by SaveKey or by an SDK of the protocol. The error wraps ErrKeyFile, and os.ErrNotExist if the file
// does not exist; it never quotes the contents of the file.
func LoadKey(path string) (ed25519.PrivateKey, error) {
	seed, err := privatefile.Read(path, ed25519.SeedSize)
	switch {
	case errors.Is(err, privatefile.ErrOpen):
		return nil, fmt.Errorf("%s: %w: %w; run chmod 600 on it or, better, create a new key", path, ErrKeyFile, err)
	case err == nil && len(seed) != ed25519.SeedSize, errors.Is(err, privatefile.ErrTooLarge):
		return nil, fmt.Errorf("%s: %w: the file must contain a seed of exactly %d bytes and nothing else", path, ErrKeyFile, ed25519.SeedSize)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}
