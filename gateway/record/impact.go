package record

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
)

// An Impact compares the decision of the gateway about a recorded call with that of another policy on the same facts.
type Impact struct {
	Effect Effect
	Reason reason.Reason // why the other policy denies the call
	Rule   string        // the rule of the other policy that decided
	Detail string        // the requirement of the other policy that the call does not meet
	// Before is the amount that the agent was charged, and After is the amount that it would be charged. They are zero if the call was not
	// made or its charge was released.
	Before, After money.Amount
}

// An Effect describes how the outcome of a call differs under another policy.
type Effect string

// The effects.
const (
	Same      Effect = "same"
	Refused   Effect = "refused"   // the gateway made the call; the other policy denies it
	Permitted Effect = "permitted" // the policy denied the call; the other policy permits it
	Repriced  Effect = "repriced"  // the gateway made the call; the other policy charges another amount
)

// Impact decides a recorded call under another policy, which is the result of odrl.Publish. keyID is the thumbprint of the agent's key;
// empty: unknown. It returns ErrOtherPolicy if no policy decided the call, ErrWithheld, or an error of odrl.Policy.Decide. The
// comparison includes neither limits nor credit.
func (l *Line) Impact(ctx context.Context, p *odrl.Policy, keyID string) (Impact, error) {
	switch {
	case l.Request == nil || l.Rule == odrl.ExtraRule || l.Rule == execute.ProofRule || l.Decision == Begun:
		return Impact{}, ErrOtherPolicy
	case len(l.FactsSHA256) > 0:
		return Impact{}, ErrWithheld
	}
	q := l.Request.Request()
	q.KeyID = keyID
	d, err := p.Decide(ctx, q)
	if err != nil {
		return Impact{}, err
	}
	out := Impact{Effect: Same, Reason: d.Reason, Rule: d.Rule, Detail: d.Detail}
	switch {
	case l.Decision == "permit" && !d.Permit:
		out.Effect, out.Before = Refused, l.charged()
	case slices.Contains(denials, l.Reason) && d.Permit:
		out.Effect, out.After = Permitted, d.Candidates[0].Charge
	case l.Decision == "permit" && !l.Replayed && l.ChargeState != "released":
		out.Before, out.After = l.charged(), d.Candidates[0].Charge
		if out.Before != out.After {
			out.Effect = Repriced
		}
	}
	return out, nil
}

// charged returns the amount that the agent was charged for a call: zero if the call was free, repeated or released.
func (l *Line) charged() money.Amount {
	if l.Charge == "" || l.Replayed || l.ChargeState == "released" {
		return money.Amount{}
	}
	amount, err := money.Parse(l.Charge)
	if err != nil {
		return money.Amount{}
	}
	return amount
}
