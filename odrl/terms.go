package odrl

import (
	"bytes"
	"context"
	"encoding/base64"
	"slices"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/plan"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// Terms returns what the policy requires of the agent for the intent, before any call. The scope of a PAT is computed from these Terms.
// The time, the proof and every operand without a fact in r are left open. Terms evaluates the other operands with the facts in r,
// such as claims of the agreement. If Terms returns an error, it also returns the zero Terms, which permit nothing. The Terms are evaluated
// once for all agents that the policy does not distinguish, and share their slices: callers must not modify them.
func (p *Policy) Terms(ctx context.Context, r Request) (Terms, error) {
	if !p.names(r.Intent) {
		return Terms{Reason: reason.PolicyNotApplicable, Detail: "the policy has no rule for this intent"}, nil
	}
	k, ok := p.foreseenBy(&r)
	if !ok {
		return p.foresee(ctx, r)
	}
	if known, ok := p.foreseen.get(k); ok {
		return known, nil
	}
	t, err := p.foresee(ctx, r)
	if err == nil {
		p.foreseen.put(k, t)
	}
	return t, err
}

// foresee evaluates the Terms of a request without the cache.
func (p *Policy) foresee(ctx context.Context, r Request) (Terms, error) {
	o, err := rules.Ask(ctx, &p.program.Engine.Terms, p.inputs.Document((*plan.Request)(&r), true))
	if err != nil {
		return Terms{}, err
	}
	possible, err := rules.NumbersIn(o, "possible")
	if err != nil {
		return Terms{}, err
	}
	certain, err := rules.NumbersIn(o, "certain")
	if err != nil {
		return Terms{}, err
	}
	f := p.sort(possible)
	wrongKey := f.requireKeys(r, possible)
	sure := p.sort(certain)
	sure.permissions = f.permissions
	stands, refused := p.settle(sure)
	var t Terms
	switch {
	case refused == reason.PolicyConflict:
		t.Reason, t.Rule, t.Detail = refused, stands.Node.Name(), "the policy both permits and prohibits this intent"
	case refused != "":
		t.Reason, t.Rule, t.Detail = refused, stands.Node.Name(), "the policy prohibits this intent"
	case wrongKey != nil && (wrongKey.Kind == model.Obligation || len(f.permissions) == 0):
		t.Reason, t.Rule, t.Detail = reason.PolicyRequiresVerification, wrongKey.Node.Name(),
			"the policy requires signatures with a key other than the agent's"
	case len(f.permissions) == 0:
		t.Reason, t.Detail = reason.PolicyNotApplicable, "no permission of the policy covers this intent for this agent"
	default:
		if t.Candidates, err = f.candidates(possible); err != nil {
			return Terms{}, err
		}
		t.Permitted, t.Rule, t.NeedsProof = true, t.Candidates[0].Rule, f.needsProof(possible)
	}
	return t, nil
}

// requireKeys removes the permissions that require a signature with a key other than the agent's. It returns an obligation that the agent's
// key cannot fulfil or, if there is none, one of the removed permissions.
func (f *finding) requireKeys(r Request, possible map[int]bool) *rules.Rule {
	var wrong *rules.Rule
	f.permissions = slices.DeleteFunc(f.permissions, func(p *rules.Rule) bool {
		for _, d := range p.Duties {
			if d.Unconditional() && !signable(d, r.AgentKey) {
				wrong = p
				return true
			}
		}
		return false
	})
	for _, o := range f.obligations {
		if possible[o.N] && o.Unconditional() && !signable(o.Duties[0], r.AgentKey) {
			return o
		}
	}
	return wrong
}

// signable reports whether the agent's key can fulfil the duty. It is true for every duty that requires no signature.
func signable(d *rules.Duty, agent []byte) bool {
	if d.Action != "signPayload" || d.Elided {
		return true
	}
	return slices.ContainsFunc(d.Keys, func(k string) bool {
		der, err := base64.StdEncoding.DecodeString(k)
		return err == nil && len(agent) > 0 && bytes.Equal(der, agent)
	})
}

// needsProof reports whether an obligation to sign may bind the agent, or every permission requires a signature.
func (f *finding) needsProof(possible map[int]bool) bool {
	signs := func(d *rules.Duty) bool { return d.Action == "signPayload" }
	if slices.ContainsFunc(f.obligations, func(o *rules.Rule) bool { return possible[o.N] && signs(o.Duties[0]) }) {
		return true
	}
	return !slices.ContainsFunc(f.permissions, func(p *rules.Rule) bool { return !slices.ContainsFunc(p.Duties, signs) })
}
