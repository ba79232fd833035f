package evidence

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

// JWKS returns the set as a JWKS. Each key has the member uim_purpose. The keys are ordered by purpose and id.
func (s KeySet) JWKS() []byte {
	out := []byte(`{"keys":[`)
	places := slices.SortedFunc(maps.Keys(s.keys), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for i, at := range places {
		if i > 0 {
			out = append(out, ',')
		}
		key := s.keys[at]
		member, err := strictjson.DecodeObject(key.JWK())
		if err != nil {
			continue
		}
		member["uim_purpose"] = at[0]
		if text, err := strictjson.Append(nil, map[string]any(member)); err == nil {
			out = append(out, text...)
		}
	}
	return append(out, ']', '}')
}

// Only returns the subset of s with the keys for the given purposes.
func (s KeySet) Only(purposes ...string) KeySet {
	var out KeySet
	for at, key := range s.keys {
		if slices.Contains(purposes, at[0]) {
			out.Add(at[0], key)
		}
	}
	return out
}

// Len returns the number of keys.
func (s KeySet) Len() int { return len(s.keys) }

// Clone returns a copy, to which keys can be added independently.
func (s KeySet) Clone() KeySet { return KeySet{maps.Clone(s.keys)} }

// Introduce adds the key of a KindKey entry, if a key of the set for the same purpose signed the entry. The error wraps ErrReceipt if the
// text is not such an entry, or if its key does not match its id. It wraps ErrKey if the set does not have the key that signed the entry,
// and ErrSignature if the signature is wrong.
func (s *KeySet) Introduce(text string) error {
	r, err := ParseReceipt(text)
	if err != nil {
		return err
	}
	e := r.Entry
	if e.Kind != KindKey || e.Key == nil {
		return fmt.Errorf("%w: want an entry of kind %s", ErrReceipt, KindKey)
	}
	by, ok := s.Key(e.Key.Purpose, r.KeyID)
	if !ok {
		return ErrKey
	}
	if by.Algorithm() != keys.EdDSA || !r.jws.SignedBy(by) {
		return ErrSignature
	}
	key, err := keys.ParseJWK(e.Key.JWK)
	if err != nil || string(key.Thumbprint()) != e.Key.ID {
		return fmt.Errorf("%w: the key is not the one that its kid names", ErrReceipt)
	}
	s.Add(e.Key.Purpose, key)
	return nil
}

// Join adds the keys of another set to s.
func (s *KeySet) Join(other KeySet) {
	for at, key := range other.keys {
		s.Add(at[0], key)
	}
}

// Equal reports whether two sets have the same keys for the same purposes.
func (s KeySet) Equal(other KeySet) bool { return bytes.Equal(s.JWKS(), other.JWKS()) }

// All returns the keys for a purpose, ordered by id.
func (s KeySet) All(purpose string) []keys.Key {
	var out []keys.Key
	for at, key := range s.keys {
		if at[0] == purpose {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, func(a, b keys.Key) int { return strings.Compare(string(a.Thumbprint()), string(b.Thumbprint())) })
	return out
}
