package aea

import (
	"encoding/hex"
	"sync"

	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

// Files provides the stored keys and certificates of services as agents of the AEA framework.
type Files struct {
	// Key returns the stored private key of a service that has no configured key, in hexadecimal digits. It must return the same key every
	// time.
	Key func(service string) (digits string, err error)
	// Certificate returns the path of the certificate file of a service.
	Certificate func(service string) (path string)
}

// Keys holds the keys of the services of this process as agents. It is safe for concurrent use.
type Keys struct {
	files Files
	mu    sync.RWMutex
	keys  map[string]identity.Key // by address
}

// NewKeys returns Keys without any key.
func NewKeys(f Files) *Keys { return &Keys{files: f, keys: map[string]identity.Key{}} }

// Identity returns the address and the public key of a service, and keeps its private key for the Door. digits is the private key in
// hexadecimal; if it is empty, Identity gets the key from Files. It returns identity.ErrKey or an error of Files.
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

// of returns the key of an address, or the zero Key, which cannot sign, if the address does not belong to this process.
func (k *Keys) of(address string) identity.Key {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.keys[address]
}
