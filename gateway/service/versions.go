package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl/words"
	"github.com/uimgate/uimgate/pat"
)

// versions completes s with the policy that is now in force, and with successors for the later policies. It returns s. If a policy is not
// valid, it adds errors and returns nil.
func (l *loadState) versions(s *Definition, at int) *Definition {
	c := &l.config.Services[at]
	list, now, first := c.Versions(), l.now(), -1
	for i, v := range list {
		if !v.From.After(now) {
			first = i
		}
	}
	if first < 0 {
		l.wrong(at, "policies[0].from", "no policy is in force before this time: omit from, or put the present policy before this one")
		return nil
	}
	for i := range first {
		l.problems = append(l.problems, l.config.Problemf(problem.Warning, fmt.Sprintf("services[%d].policies[%d]", at, i),
			"this policy ended at %s: remove it", list[i+1].From.Format(time.RFC3339)))
	}
	made := []*Definition{s}
	for range list[first+1:] {
		version := *s
		made = append(made, &version)
	}
	ok := true
	for i, d := range made {
		n := first + i
		d.From = list[n].From
		if err := list[n].Unread(); err != nil {
			l.wrong(at, c.PolicyPath(n), "%v", err)
			ok = false
			continue
		}
		if !l.policy(d, at, list[n].File, c.PolicyPath(n)) {
			ok = false
			continue
		}
		l.advisePolicy(d, at, c.PolicyPath(n))
		ok = l.doorTerms(d, at) && ok
		if i == 0 {
			continue
		}
		before := made[i-1]
		ok = ok && l.mayFollow(before, d, at, c.PolicyPath(n))
		d.changes = sync.OnceValue(func() []words.Change { return words.Compare(before.Policy, d.Policy).Changes })
	}
	if !ok {
		return nil
	}
	for i, d := range made {
		d.successors = made[i+1:]
	}
	l.adviseService(s, at)
	l.adviseFacts(at, made)
	return s
}

// doorTerms adds an error for each setting of a door that the intents or the policy of d do not permit, and reports whether there are none.
func (l *loadState) doorTerms(d *Definition, at int) bool {
	ok := true
	for _, name := range slices.Sorted(maps.Keys(d.Doors)) {
		checker, checks := d.Doors[name].(TermsChecker)
		if !checks {
			continue
		}
		checker.CheckTerms(l.ctx, d, func(key, format string, args ...any) {
			ok = false
			l.wrong(at, "doors."+name+"."+key, format, args...)
		})
	}
	return ok
}

// mayFollow adds an error and returns false if a policy is the same as the previous one. It adds a warning if every agreement ends when the
// policy takes effect.
func (l *loadState) mayFollow(before, d *Definition, at int, path string) bool {
	switch {
	case before.offer.Digest == d.offer.Digest:
		l.wrong(at, path, "this policy is the same as the one before it: remove one of the two")
		return false
	case before.offer.UID != d.offer.UID:
		l.problems = append(l.problems, l.config.Problemf(problem.Warning, fmt.Sprintf("services[%d].%s", at, path),
			"its uid differs from that of the policy before it, so agents must agree again for every intent when it takes effect: "+
				"keep the uid %s, and only the intents whose terms change need a new agreement", before.offer.UID))
	}
	return true
}

// Successors returns the offered policies that take effect later, in the order of their dates.
func (d *Definition) Successors() []*Definition { return d.successors }

// Until returns when the policy of d ends, or the zero time if no policy succeeds it.
func (d *Definition) Until() time.Time {
	if len(d.successors) == 0 {
		return time.Time{}
	}
	return d.successors[0].From
}

// at returns the version of a service that is in force at a time. s is the earliest version.
func (s *Service) at(now time.Time) *Service {
	current := s
	for _, next := range s.successors {
		if now.Before(next.From) {
			break
		}
		current = next
	}
	return current
}

// Version returns the version of the service whose policy has this digest, or nil if the policy is not offered.
func (s *Service) Version(digest string) *Service {
	for _, version := range append([]*Service{s}, s.successors...) {
		if version.offer.Digest == digest {
			return version
		}
	}
	return nil
}

// Under returns the version of the service that decides calls to an intent under an agreement to the policy with this digest. If the policy
// is offered, this is the version with that policy. Otherwise, it is the first version that has the same clause for the intent. If there is
// none, the error is a *pat.PolicyChangedError.
func (s *Service) Under(digest, uid string) (*Service, error) {
	of := s.terms.governing(digest, uid)
	if of == nil {
		return nil, &pat.PolicyChangedError{Agreed: digest, Offered: s.offer.Digest}
	}
	for _, next := range s.successors {
		if next.terms == of {
			return next, nil
		}
	}
	return s, nil
}

// version returns the Service for one Definition, whose successors are given. earlier are the versions before it, and recent are the
// policies that were offered last.
func (d *Directory) version(
	ctx context.Context, definition *Definition, earlier []*Definition, recent []pat.PolicyDocument, successors []*Service,
) (*Service, error) {
	past := d.past(ctx, definition, earlier, recent)
	var later []*terms
	for _, s := range successors {
		later = append(later, s.terms)
	}
	own := newTerms(definition, past, later)
	issuer, err := pat.NewIssuer(pat.IssuerConfig{
		Rules: definition.rules, Terms: own, Store: d.state.Agreements, Keys: d.state.Keys, View: d.state.View, Now: d.state.Now,
		Forms: d.state.Forms,
	})
	if err != nil {
		return nil, err
	}
	return &Service{
		Definition: definition, Verifier: issuer.Verifier(), Issuance: issuer, terms: own, successors: successors, since: past.since,
	}, nil
}
