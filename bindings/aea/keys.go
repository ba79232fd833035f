package aea

import (
	"encoding/hex"
	"sync"

	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

// Files stores the keys of services among agents of the AEA framework.
type Files struct {
	// Key returns the private key of a service without a configured one, as hexadecimal digits. Repeated calls return the same key.
	Key func(service string) (digits string, err error)
	// Certificate returns the path of the certificate file of a service.
	Certificate func(service string) (path string)
}

// Keys are the identities of the services of this process. It is safe for concurrent use.
type Keys struct {
	files Files
	mu    sync.RWMutex
	keys  map[string]identity.Key // by address
}

// NewKeys makes Keys.
func NewKeys(f Files) *Keys { return &Keys{files: f, keys: map[string]identity.Key{}} }

// Identity returns the address and the public key of a service whose private key has these hexadecimal digits; empty: Files makes the
// key. The Door can use the key from then on.
func (k *Keys) Identity(service, digits string) (address, public string, err error) {
	if digits == "" {
		if digits, err = k.files.Key(service); err != nil {
			return "", "", err
		}
	}
	data, err := hex.DecodeString(digits)
	if err != nil {
		return "", "", identity.ErrKey
	}
	key, err := identity.NewKey(data)
	if err != nil {
		return "", "", err
	}
	own := key.Public(identity.Fetchai)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[own.Address()] = key
	return own.Address(), own.String(), nil
}

// of returns the key of an address. It returns the zero Key, which signs nothing, if the address does not belong to this process.
func (k *Keys) of(address string) identity.Key {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.keys[address]
}
