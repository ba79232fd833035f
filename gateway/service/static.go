package service

import (
	"slices"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
)

// Whoever saw a static agreement can replay it. So it reaches neither an intent that the operator keeps for fresh ones
// nor anything that charges, unless the very call is proved, which makes it fresh. This file alone holds that rule.

// Reserved reports whether an intent is out of reach of an agreement, whatever the policy permits.
func (in *Intent) Reserved(a pat.Assurance) bool { return a == pat.Static && in.FreshOnly }

// Within returns the candidates of a permitted call that an agreement may use. False: none, so that a fresh agreement or
// a proof of key is required.
func (in *Intent) Within(a pat.Assurance, candidates []odrl.Candidate) ([]odrl.Candidate, bool) {
	if a != pat.Static {
		return candidates, true
	}
	if in.Reserved(a) {
		return nil, false
	}
	free := slices.DeleteFunc(slices.Clone(candidates), func(c odrl.Candidate) bool { return !c.Charge.IsZero() })
	return free, len(free) > 0
}

// reaches reports whether calls under an agreement can be permitted without a proof of key.
func (in *Intent) reaches(a pat.Assurance, t odrl.Terms) bool {
	_, ok := in.Within(a, t.Candidates)
	return ok && (a != pat.Static || !t.NeedsProof)
}
