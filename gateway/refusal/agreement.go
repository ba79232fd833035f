package refusal

import (
	"errors"
	"strings"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// agreement returns the refusal for an error of issuance or renewal that carries details, or nil for any other error.
func agreement(err error) *reason.Refusal {
	if changed, ok := errors.AsType[*pat.PolicyChangedError](err); ok {
		return reason.PolicyRequiresAgreement.Refusal("").With("agreed_digest", changed.Agreed)
	}
	if mismatch, ok := errors.AsType[*pat.PolicyMismatchError](err); ok {
		f := reason.PolicyMismatch.Refusal("")
		if mismatch.Member != "" {
			f = reason.PolicyMismatch.Refusal(
				"The agreement does not name the policy that the service offers now: "+mismatch.Member+": "+mismatch.Reason+".").
				With("member", mismatch.Member).
				With("suggestion", "Correct "+mismatch.Member+" as the message describes, and sign again with a new jti.")
		}
		if mismatch.SignedDigest != "" {
			f.With("signed_digest", mismatch.SignedDigest)
		}
		return f
	}
	if misdirected, ok := errors.AsType[*pat.MisdirectedError](err); ok {
		return reason.AgreementMisdirected.Refusal("").With(misdirected.Member, misdirected.Want)
	}
	if taken, ok := errors.AsType[*pat.AgentIDTakenError](err); ok {
		return reason.AgentIDTaken.Refusal("").With("suggested_agent_id", taken.Suggestion)
	}
	if taken, ok := errors.AsType[*pat.KeyTakenError](err); ok {
		return reason.KeyTaken.Refusal("").With("agent_id", taken.AgentID)
	}
	if plan, ok := errors.AsType[*pat.PlanError](err); ok {
		return ofPlan(plan)
	}
	if scope, ok := errors.AsType[*pat.ScopeError](err); ok {
		return reason.InsufficientPermissions.Refusal("The policy permits this agent none of the requested intents.").
			With("scope_omitted", scope.Omitted)
	}
	if misfit, ok := errors.AsType[*keys.Error](err); ok {
		return key(err, misfit)
	}
	if misfit, ok := errors.AsType[*pat.AgreementError](err); ok {
		return reason.InvalidParameter.Refusal("The agreement is not well formed: "+misfit.Error()+".").
			With("member", misfit.Member).With("pointer", "/signed_policy")
	}
	if misfit, ok := errors.AsType[*pat.ProofError](err); ok {
		return proof(err, misfit)
	}
	if misfit, ok := errors.AsType[*pat.ScopeFormError](err); ok {
		return reason.InvalidParameter.Refusal("The requested scope is not acceptable: "+misfit.Error()+".").With("pointer", "/scope").
			With("suggestion", "Omit scope to get everything that the policy permits you, or list intents in it.")
	}
	return nil
}

// ofPlan returns the refusal of an agreement for an error about its plan.
func ofPlan(e *pat.PlanError) *reason.Refusal {
	switch {
	case e.Unknown && len(e.Plans) == 0:
		return reason.UnknownPlan.Refusal("The policy of this service has no plans.").With("plans", []string{}).
			With("suggestion", "Agree without a plan.")
	case e.Unknown:
		return reason.UnknownPlan.Refusal("The agreement does not choose one of the plans of the policy, which are "+
			strings.Join(e.Plans, ", ")+".").With("plans", e.Plans)
	}
	return PlanRequired(e.Plan, e.Plans).With("scope_omitted", e.Omitted)
}

// PlanRequired returns the refusal of intents that need one of plans. own is the plan of the agreement; empty: it has none.
func PlanRequired(own string, plans []string) *reason.Refusal {
	message := "The agreement chooses no plan"
	if own != "" {
		message = "The plan of the agreement, " + own + ", does not include this"
	}
	f := reason.PlanRequired.Refusal(message+". Plans that do are "+strings.Join(plans, ", ")+".").With("plans", plans)
	if own != "" {
		f.With("plan", own)
	}
	return f
}

// key returns the refusal of an invalid key.
func key(err error, misfit *keys.Error) *reason.Refusal {
	why := reason.UnsupportedKey
	if errors.Is(err, keys.ErrWeak) {
		why = reason.WeakKey
	}
	f := why.Refusal("The key is not accepted: "+misfit.Reason+".").With("pointer", "/agent_public_key")
	if misfit.Private {
		f.With("suggestion", "Create a new key pair, because anyone who has seen the private key can sign as you. "+
			"Send only the public members of the new JWK, or the new public key as PEM.")
	}
	return f
}

// proof returns the refusal of an invalid proof of key. Its suggestion replaces the default one, which is to send a proof and would not
// help here.
func proof(err error, misfit *pat.ProofError) *reason.Refusal {
	why := reason.PolicyRequiresVerification
	if errors.Is(err, pat.ErrBadSignature) {
		why = reason.BadSignature
	}
	return why.Refusal("The proof of key is not valid for this request: "+misfit.Member+": "+misfit.Reason+".").With("member", misfit.Member).
		With("suggestion", "Create a new proof with a new jti, and set "+misfit.Member+" as the message describes.")
}
