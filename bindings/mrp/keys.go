package mrp

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"sync"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// ErrSeed means that the key of an agent is unknown or invalid.
var ErrSeed = errors.New("want a 32-byte Ed25519 seed, as 64 hexadecimal digits")

// Keys holds the private keys of the services of this process. It is safe for concurrent use.
type Keys struct {
	made func(service string) (digits string, err error)
	mu   sync.RWMutex
	keys map[wire.Key]ed25519.PrivateKey
}

// NewKeys returns an empty Keys. For a service without a configured seed, made returns a generated one as hexadecimal digits; it must
// return the same seed each time.
func NewKeys(made func(service string) (digits string, err error)) *Keys {
	return &Keys{made: made, keys: map[wire.Key]ed25519.PrivateKey{}}
}

// Identity adds the key of a service, whose seed is given as hexadecimal digits, and returns the public key in text form. If digits is
// empty, Identity uses the generated seed. It returns ErrSeed if the seed is invalid, or the error of the function that generates seeds.
func (k *Keys) Identity(service, digits string) (public string, err error) {
	if digits == "" {
		if digits, err = k.made(service); err != nil {
			return "", err
		}
	}
	seed, err := hex.DecodeString(digits)
	if err != nil || len(seed) != ed25519.SeedSize {
		return "", ErrSeed
	}
	private := ed25519.NewKeyFromSeed(seed)
	own := wire.KeyOf(private)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[own] = private
	return own.String(), nil
}

// of returns the private half of a key. It returns nil if the key does not belong to this process.
func (k *Keys) of(public string) ed25519.PrivateKey {
	own, err := wire.ParseKey(public)
	if err != nil {
		return nil
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.keys[own]
}
