package service

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
)

// What a call reaches depends on how it is known whose it is. This file alone holds the rules.
//
// Whoever saw a static agreement can replay it, and under consent there is no key at all: the two are contained. So they
// reach neither an intent that the operator keeps for fresh ones nor anything that charges. A PAT can be stolen, so without
// a proof of key it reaches nothing that charges either, unless the operator leaves that to the policy. A call that is
// proved was made by whoever agreed, just now: it reaches everything.

// contained reports whether an agreement of this assurance is.
func contained(a pat.Assurance) bool { return a != pat.Fresh }

// Reserved reports whether an intent is out of reach of an agreement, whatever the policy permits.
func (in *Intent) Reserved(a pat.Assurance) bool { return contained(a) && in.FreshOnly }

// ProvedAlways reports whether the operator asks for a proof of key with each call.
func (in *Intent) ProvedAlways() bool { return in.Proof == config.ProofRequired }

// ProvedWhereCharged reports whether each call that charges needs a proof of key.
func (in *Intent) ProvedWhereCharged() bool { return in.Proof != config.ProofOptional }

// Within returns the candidates of a permitted call that it may use, by its agreement and whether it is proved; or, where
// there are none, the reason to refuse it with.
func (in *Intent) Within(a pat.Assurance, proved bool, candidates []odrl.Candidate) ([]odrl.Candidate, reason.Reason) {
	switch {
	case proved:
		return candidates, ""
	case in.Reserved(a):
		return nil, reason.FreshAgreementRequired
	case in.ProvedAlways():
		return nil, reason.PolicyRequiresVerification
	}
	charges := func(c odrl.Candidate) bool { return !c.Charge.IsZero() }
	if !contained(a) && !in.ProvedWhereCharged() || len(candidates) > 0 && !slices.ContainsFunc(candidates, charges) {
		return candidates, ""
	}
	free := slices.DeleteFunc(slices.Clone(candidates), charges)
	switch {
	case len(free) > 0:
		return free, ""
	case contained(a):
		return nil, reason.FreshAgreementRequired
	}
	return nil, reason.PolicyRequiresVerification
}

// NeedsKey reports whether an intent is out of reach of agreements that could be replayed: it takes an agent that signs with
// a key of its own.
func (d *Definition) NeedsKey(ctx context.Context, in *Intent) bool {
	terms, err := d.Policy.Terms(ctx, odrl.Request{Intent: in.ID})
	return err != nil || !in.reaches(pat.Static, terms)
}

// reaches reports whether an intent is within the scope of an agreement: one that is contained has those that need no proof
// of key.
func (in *Intent) reaches(a pat.Assurance, t odrl.Terms) bool {
	_, refused := in.Within(a, false, t.Candidates)
	return !contained(a) || refused == "" && !t.NeedsProof
}
