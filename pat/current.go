package pat

import (
	"cmp"
	"context"
	"fmt"

	"github.com/uimgate/uimgate/pat/keys"
)

// newest is the maximum number of PATs of one agent that Current and CurrentImplied examine.
const newest = 16

// Current returns the newest valid PAT that an agent has for key, except those under implied agreements. It is for messages that contain no
// PAT but are signed with key. Current signs the PAT again, because the store does not contain PATs. Errors: ErrMissing if none of the
// agent's newest PATs is for key; ErrExpired, ErrRevoked or ErrBlocked if the newest PAT for key has ended; ErrUnavailable; and the errors
// of the key ring and the store.
func (i *Issuer) Current(ctx context.Context, agent AgentID, key keys.ID) (string, error) {
	return i.current(ctx, agent, key, func(t *Token) bool { return t.Assurance != Implied })
}

// CurrentImplied is like Current, but returns a PAT under an implied agreement to the policy that is in force, whose scope contains the
// intent uid.
func (i *Issuer) CurrentImplied(ctx context.Context, agent AgentID, key keys.ID, uid string) (string, error) {
	inForce := i.terms.Offers()[0].Digest
	return i.current(ctx, agent, key, func(t *Token) bool {
		return t.Assurance == Implied && t.PolicyDigest == inForce && permits(t.Scope, uid)
	})
}

// current returns the newest valid PAT of an agent for key for which counts returns true.
func (i *Issuer) current(ctx context.Context, agent AgentID, key keys.ID, counts func(*Token) bool) (string, error) {
	now := i.now()
	list, err := i.store.Newest(ctx, i.rules.Service, agent, now, newest)
	if err != nil {
		return "", fmt.Errorf("looking up the PATs of the agent: %w", err)
	}
	var ended error // why the newest one is invalid
	for _, t := range list {
		if t.KeyID != key || !counts(&t) {
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
