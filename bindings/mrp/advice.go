package mrp

import "github.com/uimgate/uimgate/internal/reason"

// advice has suggestions for refusals whose general suggestion concerns requests over HTTP.
var advice = map[reason.Reason]string{
	reason.MissingToken:            agreeFirst,
	reason.ExpiredToken:            "Renew the PAT (" + actionRenew + "), or agree again (" + actionAgree + ").",
	reason.RevokedToken:            agreeFirst,
	reason.PolicyRequiresAgreement: agreeFirst,
	reason.BadSignature:            "Sign with the key that you write with: it is the one of your agreements and proofs.",
	reason.PolicyRequiresVerification: "Send an uim-proof+jwt with the call: as proof, or as uim_proof beside the parameters of an intent. " +
		"At the relay of the gateway itself it is enough that the call is sent anew.",
}

const agreeFirst = "Read the policy (" + actionPolicy + ") and agree to it (" + actionAgree + "); then send the PAT: as pat, " +
	"or as uim_pat beside the parameters of an intent."
