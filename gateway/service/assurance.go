package service

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
)

// Only this file limits an agreement according to its assurance, that is, how certain the gateway is that the agent itself sends a call.
//
// Anyone who has seen a static agreement can replay it, and an agreement that a consent created has no key at all: both have low assurance.
// They permit neither an intent that the operator reserves for fresh agreements nor a call that costs money. The same holds for an implied
// agreement, whose agent may not know the policy; there, a proof of key changes nothing, because it does not prove more. A PAT can be
// stolen, so a PAT without a proof of key does not permit calls that cost money either, unless the operator leaves that decision to the
// policy. A call with a proof of key comes from the agent that agreed, so it may do everything that the policy permits. A person can permit
// a client without a key to spend a budget, if the operator offers budgets: within it, charges need no proof of key.

// lowAssurance reports whether someone other than the agent may be able to use an agreement, or the agent may not know the policy.
func lowAssurance(a pat.Assurance) bool { return a != pat.Fresh }

// Reserved reports whether the intent is closed to agreements with this assurance, whatever the policy permits, because the operator
// reserves the intent for fresh agreements.
func (in *Intent) Reserved(a pat.Assurance) bool { return lowAssurance(a) && in.FreshOnly }

// ProvedAlways reports whether the operator requires a proof of key with each call.
func (in *Intent) ProvedAlways() bool { return in.Proof == config.ProofRequired }

// ProvedWhereCharged reports whether each call that charges needs a proof of key.
func (in *Intent) ProvedWhereCharged() bool { return in.Proof != config.ProofOptional }

// Allowed returns those candidates of a permitted call that its agreement permits. a is the assurance of the agreement, and proved means
// that the call has a proof of key; under an implied agreement, the proof is ignored. spends reports whether a person permits charges in a
// currency without a proof of key; if it is nil, no such charges are permitted. If the agreement permits no candidate, Allowed returns the
// reason for the refusal.
func (in *Intent) Allowed(
	a pat.Assurance, proved bool, candidates []odrl.Candidate, spends func(currency string) bool,
) ([]odrl.Candidate, reason.Reason) {
	switch {
	case proved && a != pat.Implied:
		return candidates, ""
	case in.Reserved(a):
		return nil, reason.FreshAgreementRequired
	case in.ProvedAlways() && a == pat.Implied:
		return nil, reason.FreshAgreementRequired
	case in.ProvedAlways():
		return nil, reason.PolicyRequiresVerification
	}
	charges := func(c odrl.Candidate) bool {
		return !c.Charge.IsZero() && (spends == nil || !spends(c.Charge.Currency))
	}
	if !lowAssurance(a) && !in.ProvedWhereCharged() || len(candidates) > 0 && !slices.ContainsFunc(candidates, charges) {
		return candidates, ""
	}
	free := slices.DeleteFunc(slices.Clone(candidates), charges)
	switch {
	case len(free) > 0:
		return free, ""
	case lowAssurance(a):
		return nil, reason.FreshAgreementRequired
	}
	return nil, reason.PolicyRequiresVerification
}

// NeedsKey reports whether only an agent that signs with its own key can call an intent. It returns true if the policy cannot be evaluated.
func (d *Definition) NeedsKey(ctx context.Context, in *Intent) bool {
	terms, err := d.Policy.Terms(ctx, odrl.Request{Intent: in.ID})
	return err != nil || !in.allowedBy(pat.Static, terms, nil)
}

// Charges reports whether an agent that the policy does not name may be charged for an intent in a currency.
func (d *Definition) Charges(ctx context.Context, in *Intent, currency string) bool {
	terms, err := d.Policy.Terms(ctx, odrl.Request{Intent: in.ID})
	return err == nil && slices.ContainsFunc(terms.Candidates, func(c odrl.Candidate) bool {
		return !c.Charge.IsZero() && c.Charge.Currency == currency
	})
}

// allowedBy reports whether an intent belongs to the scope of an agreement. The scope of an agreement with low assurance includes only the
// intents that need no proof of key.
func (in *Intent) allowedBy(a pat.Assurance, t odrl.Terms, spends func(intent, currency string) bool) bool {
	var here func(string) bool
	if spends != nil {
		here = func(currency string) bool { return spends(in.ID, currency) }
	}
	_, refused := in.Allowed(a, false, t.Candidates, here)
	return !lowAssurance(a) || refused == "" && !t.NeedsProof
}
