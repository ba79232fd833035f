package uagents

import (
	"sync"

	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// Keys holds the private keys of the services of this process. It is safe for concurrent use.
type Keys struct {
	made func(service string) (seed string, err error)
	mu   sync.RWMutex
	keys map[string]identity.Key // by address
}

// NewKeys returns an empty Keys. For a service without a configured seed, made returns a generated one; it must return the same seed each
// time.
func NewKeys(made func(service string) (seed string, err error)) *Keys {
	return &Keys{made: made, keys: map[string]identity.Key{}}
}

// Address adds the key of a service with the given seed, and returns its address. If seed is empty, Address uses the generated seed. It
// returns an error if the seed is invalid or cannot be generated.
func (k *Keys) Address(service, seed string) (string, error) {
	if seed == "" {
		var err error
		if seed, err = k.made(service); err != nil {
			return "", err
		}
	}
	key, err := identity.FromSeed(seed, 0)
	if err != nil {
		return "", err
	}
	address := string(key.Address())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[address] = key
	return address, nil
}

// of returns the key of an address. It returns the zero Key, whose signatures do not verify, if the address does not belong to this
// process.
func (k *Keys) of(address string) identity.Key {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.keys[address]
}
