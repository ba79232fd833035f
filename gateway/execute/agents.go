package execute

import (
	"context"
	"errors"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// maxKeys is the maximum number of cached keys of agreements.
const maxKeys = 10_000

// agreedKey returns the key of the agreement, with which proofs of calls are verified. An agreement that a consent created has no key, so
// its calls cannot have proofs: the error is then a *pat.ProofError.
func (x *Executor) agreedKey(ctx context.Context, e *execution) (keys.Key, error) {
	if e.claims.Assurance == pat.Consent {
		return keys.Key{}, &pat.ProofError{Member: "kid", Reason: "this PAT is based on a person's consent, which has no key: sign an agreement with a key"}
	}
	if key, ok := x.keys.Get(string(e.claims.Agreement)); ok {
		return key, nil
	}
	a, err := x.cfg.State.Agreement(ctx, e.service.ID, e.claims.Agreement)
	if errors.Is(err, pat.ErrNotFound) {
		return keys.Key{}, pat.ErrInvalid
	} else if err != nil {
		return keys.Key{}, err
	}
	key, err := a.Key()
	if err == nil {
		x.keys.Set(string(e.claims.Agreement), key)
	}
	return key, err
}
