package refusal

import (
	"errors"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// agreement describes the errors of issuance and renewal that carry details.
func agreement(err error) *reason.Refusal {
	if changed, ok := errors.AsType[*pat.PolicyChangedError](err); ok {
		return reason.PolicyRequiresAgreement.Refusal("").With("agreed_digest", changed.Agreed)
	}
	if mismatch, ok := errors.AsType[*pat.PolicyMismatchError](err); ok {
		f := reason.PolicyMismatch.Refusal("")
		if mismatch.Member != "" {
			f = reason.PolicyMismatch.Refusal("The agreement does not name the policy offered now: "+mismatch.Member+": "+mismatch.Reason+".").
				With("member", mismatch.Member).With("suggestion", "Correct "+mismatch.Member+" as in the message, and sign anew with another jti.")
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
	if scope, ok := errors.AsType[*pat.ScopeError](err); ok {
		return reason.InsufficientPermissions.Refusal("Nothing that was asked for is permitted to this agent.").
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
		return reason.InvalidParameter.Refusal("The scope asked for is not acceptable: "+misfit.Error()+".").With("pointer", "/scope").
			With("suggestion", "Leave scope out for everything that the policy permits you, or name intents in it.")
	}
	return nil
}

// key returns the refusal of an invalid key.
func key(err error, misfit *keys.Error) *reason.Refusal {
	why := reason.UnsupportedKey
	if errors.Is(err, keys.ErrWeak) {
		why = reason.WeakKey
	}
	f := why.Refusal("The key is not accepted: "+misfit.Reason+".").With("pointer", "/agent_public_key")
	if misfit.Private {
		f.With("suggestion", "Make a new key pair, and send only the public members of its JWK, or its public key as PEM; "+
			"anyone who has seen the private key can sign as you.")
	}
	return f
}

// proof returns the refusal of an invalid proof of key. Its own suggestion replaces the usual one, to send a proof, which would not help.
func proof(err error, misfit *pat.ProofError) *reason.Refusal {
	why := reason.PolicyRequiresVerification
	if errors.Is(err, pat.ErrBadSignature) {
		why = reason.BadSignature
	}
	return why.Refusal("The proof of key does not fit: "+misfit.Member+": "+misfit.Reason+".").With("member", misfit.Member).
		With("suggestion", "Make a new proof, with a new jti, and "+misfit.Member+" as in the message.")
}
