package service

import (
	"net/url"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl/words"
)

// maxChanges is the maximum number of changes that a Successor or a refusal lists.
const maxChanges = 20

// A Successor describes to agents the policy that takes effect after the policy of a Definition.
type Successor struct {
	UID    string    `json:"uid"`
	Digest string    `json:"digest"`
	URL    string    `json:"url"`
	From   time.Time `json:"from"` // when it takes effect; agents can agree to it earlier
	// Changes are at most 20 differences for agents, in words. The document at URL is complete.
	Changes []words.Change `json:"changes"`
}

// Successor returns the policy that takes effect next, or nil if there is none.
func (d *Definition) Successor() *Successor {
	if len(d.successors) == 0 {
		return nil
	}
	next := d.successors[0]
	return &Successor{
		UID: next.offer.UID, Digest: next.offer.Digest, URL: next.PolicyURL(), From: next.From.UTC(), Changes: bounded(next.changes()),
	}
}

// PolicyURL returns the URL of the policy of d, which is valid even before the policy takes effect.
func (d *Definition) PolicyURL() string {
	return d.At("/api/policy") + "?digest=" + url.QueryEscape(d.offer.Digest)
}

// AddChanges adds to a refusal at most 20 changes for agents, in words, since the policy with this digest. It adds nothing if that policy
// is unknown or still offered.
func (s *Service) AddChanges(f *reason.Refusal, digest string) {
	c := s.terms.past.comparison(digest)
	if c == nil {
		return
	}
	if changes := bounded(c.changes()); len(changes) > 0 {
		f.With("changes", changes)
	}
}

// A Difference describes to people how a policy differs from an earlier one.
type Difference struct {
	Known   bool           // false if the earlier policy is no longer stored, or cannot be compared
	Changes []words.Change // at most 20 changes for agents
	More    int            // number of further changes
}

// Since returns how the policy differs from the policy with this digest.
func (s *Service) Since(digest string) Difference {
	c := s.terms.past.comparison(digest)
	if c == nil {
		return Difference{Known: digest == s.offer.Digest}
	}
	all := c.changes()
	return Difference{Known: c.known, Changes: bounded(all), More: len(all) - len(bounded(all))}
}

func bounded(changes []words.Change) []words.Change { return changes[:min(len(changes), maxChanges)] }

// A Sunset describes the end of an intent, or of its terms.
type Sunset struct {
	Since time.Time // when the policy with other terms was first offered; zero if the intent itself ends
	From  time.Time // when the intent ends, or when that policy takes effect
	URL   string    // the URL of that policy, or of the intent that replaces this one; empty if there is none
}

// Sunset returns the end of an intent or of its terms, whichever is earlier; the terms end when the next policy changes them. If uid is
// empty, it returns the end of the policy. It returns nil if no end is announced.
func (s *Service) Sunset(uid string) *Sunset {
	end := s.endOf(uid)
	if len(s.successors) == 0 {
		return end
	}
	next := s.successors[0]
	if uid != "" && next.clauses[uid] == s.clauses[uid] || end != nil && end.From.Before(next.From) {
		return end
	}
	return &Sunset{Since: next.since, From: next.From, URL: next.PolicyURL()}
}

// endOf returns the end of an intent itself, or nil if none is announced.
func (s *Service) endOf(uid string) *Sunset {
	in := s.intents[uid]
	if in == nil || in.RetireAfter.IsZero() {
		return nil
	}
	end := &Sunset{From: in.RetireAfter}
	if in.ReplacedBy != (intents.UID{}) {
		end.URL = s.At("/api/intents/" + url.PathEscape(in.ReplacedBy.String()))
	}
	return end
}
