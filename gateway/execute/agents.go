package execute

import (
	"context"
	"errors"

	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// agreedKeys caches the keys of agreements, with which proofs of calls are verified. The key of an agreement never changes.
type agreedKeys struct {
	agents Agents
	known  *cache.Cache[string, keys.Key]
}

func newAgreedKeys(a Agents) *agreedKeys {
	return &agreedKeys{a, cache.New(cache.Options[string, keys.Key]{Max: 10_000})}
}

// agreedKey returns the key of the agreement. An agreement that a consent created has no key, so its calls cannot have proofs: the error is
// then a *pat.ProofError.
func (x *Executor) agreedKey(ctx context.Context, e *execution) (keys.Key, error) {
	if e.claims.Assurance == pat.Consent {
		return keys.Key{}, &pat.ProofError{Member: "kid", Reason: "this PAT is based on a person's consent, which has no key: sign an agreement with a key"}
	}
	return x.keys.of(ctx, e.service.ID, e.claims.Agreement)
}

func (k *agreedKeys) of(ctx context.Context, service string, agreement pat.AgreementID) (keys.Key, error) {
	if key, ok := k.known.Get(string(agreement)); ok {
		return key, nil
	}
	a, err := k.agents.Agreement(ctx, service, agreement)
	if errors.Is(err, pat.ErrNotFound) {
		return keys.Key{}, pat.ErrInvalid
	} else if err != nil {
		return keys.Key{}, err
	}
	key, err := a.Key()
	if err != nil {
		return keys.Key{}, err
	}
	k.known.Set(string(agreement), key)
	return key, nil
}
