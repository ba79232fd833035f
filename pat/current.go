package pat

import (
	"cmp"
	"context"
	"fmt"

	"github.com/uimgate/uimgate/pat/keys"
)

// newest bounds how many PATs of one agent are examined to find a valid one.
const newest = 16

// Current returns the newest valid PAT of an agent, for messages without a PAT whose signature identifies the agent. key is the key that
// signed; Current returns no PAT of another key. The PAT is signed again, because the store has no PATs. Errors: of kind ErrMissing if
// the agent has none, ErrExpired, ErrRevoked or ErrBlocked if its newest one has ended, ErrUnavailable, and the store's own.
func (i *Issuer) Current(ctx context.Context, agent AgentID, key keys.ID) (string, error) {
	now := i.now()
	list, err := i.store.Newest(ctx, i.rules.Service, agent, now, newest)
	if err != nil {
		return "", fmt.Errorf("looking up the PATs of the agent: %w", err)
	}
	var ended error // why the last one is invalid
	for _, t := range list {
		if t.KeyID != key {
			continue
		}
		if err := i.verifier.StillGood(i.claims(t), now); err != nil {
			ended = cmp.Or(ended, err)
			continue
		}
		a, err := i.store.Agreement(ctx, i.rules.Service, t.AgreementID)
		if err != nil {
			return "", fmt.Errorf("looking up the agreement: %w", err)
		}
		t.Declared = a.Declared()
		text, _, err := i.sign(ctx, &t)
		return text, err
	}
	return "", cmp.Or(ended, ErrMissing)
}
