package service

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
	"github.com/uimgate/uimgate/pat"
)

// maxEarlier is the maximum number of earlier policies that a version of a service keeps, so that agreements to them can still hold.
const maxEarlier = 64

// A history holds the policies that the service offered before one of its versions.
type history struct {
	offers []pat.Offer                   // up to pat.MaxPast, newest first
	of     map[string]func() *comparison // by digest, up to maxEarlier; each function compares a policy only once
	since  time.Time                     // when the policy of the version itself was first offered
	others *others
}

// A comparison is the result of comparing an earlier policy with the policy of a version.
type comparison struct {
	known   bool                  // whether the earlier policy can be compared
	same    map[string]bool       // UIDs of the intents whose clauses have not changed since: agreements still hold for these intents
	changes func() []words.Change // what has changed for agents; empty if the earlier policy cannot be compared
}

// past returns the history of a version of a service. earlier are the versions before it in the configuration. recent are the policies in
// the store, which other processes offered, or this process before a restart.
func (d *Directory) past(ctx context.Context, definition *Definition, earlier []*Definition, recent []pat.PolicyDocument) history {
	list := make([]pat.PolicyDocument, 0, len(earlier)+len(recent))
	for _, before := range slices.Backward(earlier) {
		list = append(list, pat.PolicyDocument{Digest: before.offer.Digest, UID: before.offer.UID, Bytes: before.offer.Bytes})
	}
	out := history{of: map[string]func() *comparison{}, since: d.state.Now(), others: d.others(definition, recent)}
	for _, was := range append(list, recent...) {
		if was.Digest == definition.offer.Digest && !was.FirstOffered.IsZero() {
			out.since = was.FirstOffered
		}
		if definition.offers(was.Digest) || out.of[was.Digest] != nil || len(out.of) == maxEarlier {
			continue
		}
		out.of[was.Digest] = sync.OnceValue(func() *comparison { return definition.compare(context.WithoutCancel(ctx), was.Bytes) })
		if len(out.offers) == pat.MaxPast {
			continue
		}
		old, err := pat.NewOffer(was.Bytes, was.UID)
		if err != nil { // refusals of new agreements do not recognize this policy
			d.state.Log.Warn("an earlier policy cannot be read", zap.String("service", definition.ID), zap.String("digest", was.Digest),
				zap.Error(err))
			continue
		}
		out.offers = append(out.offers, old)
	}
	return out
}

// offers reports whether the policy with this digest is that of d or of a successor.
func (d *Definition) offers(digest string) bool {
	return digest == d.offer.Digest || slices.ContainsFunc(d.successors, func(next *Definition) bool { return next.offer.Digest == digest })
}

// compare compares an earlier policy with the policy of d. If the earlier policy cannot be published for the present catalogue, no
// agreement to it holds.
func (d *Definition) compare(ctx context.Context, document []byte) *comparison {
	c := &comparison{same: map[string]bool{}, changes: func() []words.Change { return nil }}
	old, _ := odrl.Publish(ctx, document, d.world)
	if old == nil {
		return c
	}
	c.known = true
	for uid, clause := range words.Clauses(old) {
		if d.clauses[uid] == clause {
			c.same[uid] = true
		}
	}
	c.changes = sync.OnceValue(func() []words.Change { return words.Compare(old, d.Policy).Changes })
	return c
}

// governing returns the terms of the version that decides calls to an intent under an agreement to the policy with this digest: see
// Service.Under. It returns nil if the agreement does not permit calls to the intent or, if uid is empty, to any intent.
func (t *terms) governing(digest, uid string) *terms {
	for _, version := range t.versions {
		if version.offer.Digest == digest {
			return version
		}
	}
	for _, version := range t.versions {
		if c := version.past.comparison(digest); c != nil {
			if same := c.same; same[uid] || uid == "" && len(same) > 0 {
				return version
			}
		}
	}
	return nil
}

// holds returns nil if an agreement to the policy with this digest permits calls to an intent, or to any intent if uid is empty. Otherwise
// the error is a *pat.PolicyChangedError.
func (t *terms) holds(digest, uid string) error {
	if t.governing(digest, uid) == nil {
		return &pat.PolicyChangedError{Agreed: digest, Offered: t.offer.Digest}
	}
	return nil
}

// Holds implements pat.Terms.
func (t *terms) Holds(digest string) error { return t.holds(digest, "") }

// Holds returns nil if an agreement to the policy with this digest still permits calls to an intent, or to any intent if uid is empty.
// Otherwise the error is a *pat.PolicyChangedError.
func (s *Service) Holds(digest, uid string) error { return s.terms.holds(digest, uid) }

// Introspect returns the state of a token, which need not be a PAT of the service. A PAT is active while its agreement holds for some
// intent. The only error is of kind pat.ErrUnavailable.
func (s *Service) Introspect(ctx context.Context, token string, now time.Time) (pat.Introspection, error) {
	return s.Verifier.Introspect(ctx, token, s.terms.Holds, now)
}
