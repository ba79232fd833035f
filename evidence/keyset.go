package evidence

import (
	"fmt"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

// The purposes of keys: the values of the member uim_purpose in a JWKS.
const (
	PurposePAT     = "pat"
	PurposeReceipt = "receipt"
	PurposeLog     = "log"
	PurposeCard    = "card"
)

// maxKeys is the maximum number of keys in a JWKS.
const maxKeys = 1000

// A KeySet holds the public keys of a service, by purpose and id. The zero KeySet is empty.
type KeySet struct{ keys map[[2]string]keys.Key }

// ParseKeySet reads a JWKS (RFC 7517 section 5). A key without uim_purpose signs PATs. Keys of unknown types are skipped. ParseKeySet
// returns an error if the document is not a JWKS, or has more than 1000 keys.
func ParseKeySet(jwks []byte) (KeySet, error) {
	document, err := strictjson.DecodeObject(jwks)
	if err != nil {
		return KeySet{}, fmt.Errorf("reading a JWKS: %w", err)
	}
	list := document.List("keys")
	if !document.Has("keys") || len(list) > maxKeys {
		return KeySet{}, fmt.Errorf("reading a JWKS: want a member keys with a list of at most %d keys", maxKeys)
	}
	var set KeySet
	for _, item := range list {
		member, _ := strictjson.AsObject(item)
		text, err := strictjson.Canonical(member)
		if err != nil {
			continue
		}
		key, err := keys.ParseJWK(text)
		if err != nil || keys.ID(member.Text("kid")) != key.Thumbprint() {
			continue
		}
		purpose := member.Text("uim_purpose")
		if purpose == "" {
			purpose = PurposePAT
		}
		set.Add(purpose, key)
	}
	return set, nil
}

// Add adds a key.
func (s *KeySet) Add(purpose string, key keys.Key) {
	if s.keys == nil {
		s.keys = map[[2]string]keys.Key{}
	}
	s.keys[[2]string{purpose, string(key.Thumbprint())}] = key
}

// Key returns the key with an id, if it is for the purpose.
func (s KeySet) Key(purpose string, id keys.ID) (keys.Key, bool) {
	key, ok := s.keys[[2]string{purpose, string(id)}]
	return key, ok
}
