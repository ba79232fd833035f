package uagents

import "github.com/uimgate/uimgate/internal/reason"

// advice maps reasons to suggestions in terms of this protocol's messages. They replace the general suggestions, which apply only to
// requests over HTTP.
var advice = map[reason.Reason]string{
	reason.MissingToken:               agreeFirst,
	reason.ExpiredToken:               agreeFirst,
	reason.RevokedToken:               agreeFirst,
	reason.PolicyRequiresAgreement:    agreeFirst,
	reason.PolicyMismatch:             agreeFirst,
	reason.FreshAgreementRequired:     agreeFirst,
	reason.PolicyRequiresVerification: "Set expires in the envelope: a signed envelope that expires is a proof of key.",
	reason.ProofReplayed:              "Send a new envelope: each envelope is accepted only once.",
	reason.UnknownPlan:                choosePlan,
	reason.PlanRequired:               choosePlan,
	reason.AgreementReplayed:          "Send a new envelope: each envelope is accepted only once.",
	reason.AgreementStale:             "Send UIMAgree in an envelope that expires within 15 minutes, and check your clock.",
	reason.AgreementMisdirected:       "Use the issuer from UIMPolicy, and send the envelope to the address of the service.",
}

const choosePlan = "Send UIMAgreeToPlan with one of details.plans."

const agreeFirst = "Send UIMPolicyRequest, then UIMAgree with the digest and the issuer from UIMPolicy."
