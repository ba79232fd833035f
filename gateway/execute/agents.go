package execute

import (
	"context"
	"errors"

	"github.com/maypok86/otter/v2"

	"github.com/uimgate/uimgate/pat"
)

// agreedKeys remembers the key of each agreement that calls are proved under. An agreement never
// changes its key.
type agreedKeys struct {
	agents Agents
	known  *otter.Cache[pat.AgreementID, pat.Key]
}

func newAgreedKeys(a Agents) *agreedKeys {
	return &agreedKeys{a, otter.Must(&otter.Options[pat.AgreementID, pat.Key]{MaximumSize: 10_000})}
}

// agreedKey returns the key of the agreement. An agreement by consent has no key, so its calls have no proof.
func (x *Executor) agreedKey(ctx context.Context, e *execution) (pat.Key, error) {
	if e.claims.Assurance == pat.Consent {
		return pat.Key{}, &pat.ProofError{Member: "kid", Reason: "this PAT follows from a consent, under which there is no key: agree with a key"}
	}
	return x.keys.of(ctx, e.service.ID, e.claims.Agreement)
}

func (k *agreedKeys) of(ctx context.Context, service string, agreement pat.AgreementID) (pat.Key, error) {
	if key, ok := k.known.GetIfPresent(agreement); ok {
		return key, nil
	}
	a, err := k.agents.Agreement(ctx, service, agreement)
	if errors.Is(err, pat.ErrNotFound) {
		return pat.Key{}, pat.ErrInvalid
	} else if err != nil {
		return pat.Key{}, err
	}
	key, err := a.Key()
	if err != nil {
		return pat.Key{}, err
	}
	k.known.Set(agreement, key)
	return key, nil
}
