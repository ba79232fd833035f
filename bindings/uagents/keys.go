package uagents

import (
	"sync"

	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// Keys are the identities of the services of this process. It is safe for concurrent use.
type Keys struct {
	made func(service string) (seed string, err error)
	mu   sync.RWMutex
	keys map[string]identity.Key // by address
}

// NewKeys makes Keys. made returns the seed of a service without a configured one; repeated calls return the same seed.
func NewKeys(made func(service string) (seed string, err error)) *Keys {
	return &Keys{made: made, keys: map[string]identity.Key{}}
}

// Address returns the address of a service whose identity has that seed; empty: use the made seed. The Door can sign with the key from
// then on.
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
