package mrp

import "github.com/uimgate/uimgate/internal/reason"

// advice maps reasons to the suggestions that replace the general ones, which apply only to requests over HTTP.
var advice = map[reason.Reason]string{
	reason.MissingToken:            agreeFirst,
	reason.ExpiredToken:            "Renew the PAT (" + actionRenew + "), or agree again (" + actionAgree + ").",
	reason.RevokedToken:            agreeFirst,
	reason.PolicyRequiresAgreement: agreeFirst,
	reason.BadSignature:            "Sign agreements and proofs with the key that you send messages with.",
	reason.PolicyRequiresVerification: "Send a uim-proof+jwt with the call: as proof, or as uim_proof next to the params of an intent. " +
		"At the gateway's own relay, sending the call again is enough.",
}

const agreeFirst = "Read the policy (" + actionPolicy + ") and agree to it (" + actionAgree + "). Then send the PAT with the call: " +
	"as pat, or as uim_pat next to the params of an intent."
