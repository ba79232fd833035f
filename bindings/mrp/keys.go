package mrp

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"sync"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// ErrSeed means that the configuration does not hold the key of an agent.
var ErrSeed = errors.New("want the 32 bytes of a seed of Ed25519, as 64 hexadecimal digits")

// Keys are the identities of the services of this process. It is safe for concurrent use.
type Keys struct {
	made func(service string) (digits string, err error)
	mu   sync.RWMutex
	keys map[wire.Key]ed25519.PrivateKey
}

// NewKeys makes Keys. made returns the seed of a service without a configured one, as hexadecimal digits; repeated calls return the same
// seed.
func NewKeys(made func(service string) (digits string, err error)) *Keys {
	return &Keys{made: made, keys: map[wire.Key]ed25519.PrivateKey{}}
}

// Identity returns the public key of a service whose seed has these hexadecimal digits, in its text form; empty: use the made seed. The
// Door can use the key from then on. The error may be ErrSeed.
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
