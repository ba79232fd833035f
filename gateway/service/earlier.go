package service

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
	"github.com/uimgate/uimgate/pat"
)

// past returns up to pat.MaxPast policies that a service offered previously, newest first, including those that other processes offered and
// those from before a restart. For each of them, by digest, same has the UIDs of the intents whose clauses have not changed since: an
// agreement to the policy still holds for these intents.
func (d *Directory) past(ctx context.Context, definition *Definition) (past []pat.Offer, same map[string]map[string]bool, err error) {
	recent, err := d.state.Policies.RecentPolicies(ctx, definition.ID, pat.MaxPast+1)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the previously offered policies: %w", err)
	}
	same = map[string]map[string]bool{}
	for _, was := range recent {
		if was.Digest == definition.offer.Digest || len(past) == pat.MaxPast {
			continue
		}
		old, err := pat.NewOffer(was.Bytes, was.UID)
		if err != nil { // no agreement to it holds, and an agent that signs it again is refused without a reference to it
			d.state.Log.Warn("an earlier policy cannot be read", zap.String("service", definition.ID), zap.String("digest", was.Digest),
				zap.Error(err))
			continue
		}
		past = append(past, old)
		same[old.Digest] = definition.unchanged(ctx, was.Bytes)
	}
	return past, same, nil
}

// unchanged returns the UIDs of the intents whose clauses in an earlier policy are the same as in the policy that is offered now. It
// returns nil if the earlier policy cannot be published for the present catalogue.
func (d *Definition) unchanged(ctx context.Context, document []byte) map[string]bool {
	old, _ := odrl.Publish(ctx, document, d.world)
	if old == nil {
		return nil
	}
	same := map[string]bool{}
	for uid, clause := range words.Clauses(old) {
		if d.clauses[uid] == clause {
			same[uid] = true
		}
	}
	return same
}

// holds returns nil if an agreement to the policy with this digest permits calls of an intent, or of any intent if uid is empty: the
// agreement is to the policy that is offered now, or the clause of the intent has not changed since. Otherwise the error is a
// *pat.PolicyChangedError.
func (t *terms) holds(digest, uid string) error {
	if same := t.same[digest]; digest == t.offer.Digest || same[uid] || uid == "" && len(same) > 0 {
		return nil
	}
	return &pat.PolicyChangedError{Agreed: digest, Offered: t.offer.Digest}
}

// Holds implements pat.Terms.
func (t *terms) Holds(digest string) error { return t.holds(digest, "") }

// Holds returns nil if an agreement to the policy with this digest still permits calls of an intent, or of any intent if uid is empty.
// Otherwise the error is a *pat.PolicyChangedError.
func (s *Service) Holds(digest, uid string) error { return s.terms.holds(digest, uid) }

// Introspect returns the state of a token, which need not be a PAT of the service. A PAT is active while its agreement holds for some
// intent. The only error is of kind pat.ErrUnavailable.
func (s *Service) Introspect(ctx context.Context, token string, now time.Time) (pat.Introspection, error) {
	return s.Verifier.Introspect(ctx, token, s.terms.Holds, now)
}
