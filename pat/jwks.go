package pat

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Keys returns the keys of all purposes that verify at now, the lowest id first.
func (k *Keyring) Keys(now time.Time) []SigningKey {
	var out []SigningKey
	for _, v := range k.set.Load().keys {
		if v.live(now) {
			out = append(out, v.SigningKey)
		}
	}
	slices.SortFunc(out, func(a, b SigningKey) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Current returns the id of the key this process signs with.
func (k *Keyring) Current() KeyID { return k.signing.Load().ID }

// JWKS returns the document of RFC 7517 section 5 with every key that verifies at now.
func (k *Keyring) JWKS(now time.Time) ([]byte, error) {
	keys := []json.RawMessage{}
	for _, s := range k.Keys(now) {
		keys = append(keys, s.JWK)
	}
	out, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		return nil, fmt.Errorf("writing the key set: %w", err)
	}
	return out, nil
}

// PublicKey returns the member uim-public-key of agents.json: standard base64 of the DER SubjectPublicKeyInfo of the
// lowest kid that signs at now (or, if none signs any more, of the lowest that verifies).
func (k *Keyring) PublicKey(now time.Time) string {
	keys := slices.DeleteFunc(k.Keys(now), func(s SigningKey) bool { return s.Purpose != k.purpose })
	if len(keys) == 0 {
		return ""
	}
	lowest := keys[0]
	if i := slices.IndexFunc(keys, func(s SigningKey) bool { return s.NotAfter.IsZero() }); i >= 0 {
		lowest = keys[i]
	}
	return base64.StdEncoding.EncodeToString(k.set.Load().keys[lowest.ID].key.SPKI())
}
