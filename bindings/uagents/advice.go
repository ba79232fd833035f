package uagents

import "github.com/uimgate/uimgate/internal/reason"

// advice has suggestions for refusals, in terms of this protocol's messages, where the general suggestion concerns HTTP.
var advice = map[reason.Reason]string{
	reason.MissingToken:               agreeFirst,
	reason.ExpiredToken:               agreeFirst,
	reason.RevokedToken:               agreeFirst,
	reason.PolicyRequiresAgreement:    agreeFirst,
	reason.PolicyMismatch:             agreeFirst,
	reason.FreshAgreementRequired:     agreeFirst,
	reason.PolicyRequiresVerification: "Set expires in the envelope: a signed envelope that expires is a proof of key.",
	reason.ProofReplayed:              "Send a new envelope: each is good once.",
	reason.AgreementReplayed:          "Send a new envelope: each is good once.",
	reason.AgreementStale:             "Send UIMAgree in an envelope that expires, at most 15 minutes ahead, and check your clock.",
	reason.AgreementMisdirected:       "Name the issuer in UIMPolicy, and send the envelope to the address of the service.",
}

const agreeFirst = "Send UIMPolicyRequest, then UIMAgree with the digest and the issuer in UIMPolicy."
