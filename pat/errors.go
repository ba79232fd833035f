package pat

import (
	"errors"
	"fmt"
)

// What can go wrong, beside the errors of a Store. Behind each stands the reason agents are told.
var (
	// ErrUnsupportedKey: the key is of no kind, form or use that is accepted. UNSUPPORTED_KEY.
	ErrUnsupportedKey = errors.New("the key is not an Ed25519, ECDSA P-256 or RSA public key in a form that is accepted")
	// ErrWeakKey: the key gives too little security to be evidence. WEAK_KEY.
	ErrWeakKey = errors.New("the key is too weak")
	// ErrBadSignature: it does not verify with the key, or is no signature at all. BAD_SIGNATURE.
	ErrBadSignature = errors.New("the signature does not verify with the key")
	// ErrBadAgentID: an agent id is 1 to 200 visible ASCII characters. INVALID_PARAMETER.
	ErrBadAgentID = errors.New("an agent id is 1 to 200 visible ASCII characters")
	// ErrBadAgreement: the signature verifies, but what it signs is no agreement with this service. Every
	// such error is an *AgreementError. INVALID_PARAMETER.
	ErrBadAgreement = errors.New("the agreement is not well formed")
	// ErrBadScope: the scope asked for is not a list this package can grant from. INVALID_PARAMETER.
	ErrBadScope = errors.New("the scope asked for is not acceptable")
	// ErrPolicyMismatch: what was signed is not the policy offered now. Every such error is a
	// *PolicyMismatchError. POLICY_MISMATCH.
	ErrPolicyMismatch = errors.New("the signed policy is not the one offered now")
	// ErrAgreementReplayed: the agreement's jti was used before. AGREEMENT_REPLAYED.
	ErrAgreementReplayed = errors.New("the agreement was used before")
	// ErrAgreementStale: the agreement was made more than AgreementWindow from now. AGREEMENT_STALE.
	ErrAgreementStale = errors.New("the agreement was not made now")
	// ErrFreshRequired: only a fresh agreement (or a proof of key) will do. FRESH_AGREEMENT_REQUIRED.
	ErrFreshRequired = errors.New("an agreement that cannot be replayed, or a proof of key, is required")
	// ErrNotAdmitted: the operator admits only agents he knows. INSUFFICIENT_PERMISSIONS.
	ErrNotAdmitted = errors.New("the service does not admit this agent")
	// ErrNothingGranted: no entry of the scope is permitted. Every such error is a *ScopeError.
	// INSUFFICIENT_PERMISSIONS.
	ErrNothingGranted = errors.New("nothing in the scope is permitted to this agent")

	// ErrMissing: there is no token. MISSING_TOKEN.
	ErrMissing = errors.New("no PAT was sent")
	// ErrInvalid: it is no PAT of this service. INVALID_TOKEN.
	ErrInvalid = errors.New("the PAT is not one this service issued")
	// ErrExpired: its exp is past. EXPIRED_TOKEN.
	ErrExpired = errors.New("the PAT has expired")
	// ErrNotYetValid: its nbf or iat is in the future. INVALID_TOKEN.
	ErrNotYetValid = errors.New("the PAT is not valid yet")
	// ErrRevoked: it, its agreement, its agent's PATs or its policy's PATs were ended. REVOKED_TOKEN.
	ErrRevoked = errors.New("the PAT was revoked")
	// ErrPolicyChanged: the policy agreed to is no longer offered. Every such error is a
	// *PolicyChangedError. POLICY_REQUIRES_AGREEMENT.
	ErrPolicyChanged = errors.New("the policy agreed to is no longer the one offered")
	// ErrUnavailable: what was revoked is not known recently enough to say yes. STORE_UNAVAILABLE.
	ErrUnavailable = errors.New("revocations are not known recently enough")

	// ErrBadProof: a proof of key is malformed, too old, or made for something else; it proves nothing
	// here. POLICY_REQUIRES_VERIFICATION. A signature that does not verify is ErrBadSignature.
	ErrBadProof = errors.New("the proof of key does not prove this")
	// ErrProofRequired: without a proof of key this is not done. POLICY_REQUIRES_VERIFICATION.
	ErrProofRequired = errors.New("a proof of key is required")
	// ErrProofReplayed: the proof's jti was used before. PROOF_REPLAYED.
	ErrProofReplayed = errors.New("the proof of key was used before")

	// ErrBadExport: a bundle does not prove what it says.
	ErrBadExport = errors.New("the bundle does not prove an agreement")
)

// A PolicyMismatchError carries what is offered now. The zero SignedDigest means that what was signed
// could not be told.
type PolicyMismatchError struct {
	UID, Digest  string // offered now
	SignedDigest string
}

func (e *PolicyMismatchError) Error() string {
	return fmt.Sprintf("%s: now offered is %s, digest %s", ErrPolicyMismatch, e.UID, e.Digest)
}

// Unwrap returns ErrPolicyMismatch.
func (e *PolicyMismatchError) Unwrap() error { return ErrPolicyMismatch }

// A PolicyChangedError carries both digests.
type PolicyChangedError struct{ Agreed, Offered string }

func (e *PolicyChangedError) Error() string {
	return fmt.Sprintf("%s: agreed %s, offered %s", ErrPolicyChanged, e.Agreed, e.Offered)
}

// Unwrap returns ErrPolicyChanged.
func (e *PolicyChangedError) Unwrap() error { return ErrPolicyChanged }

// An AgentIDTakenError suggests an id that is the key's own.
type AgentIDTakenError struct{ AgentID, Suggestion AgentID }

func (e *AgentIDTakenError) Error() string {
	return fmt.Sprintf("%s; %s is free for yours", ErrAgentIDTaken, e.Suggestion)
}

// Unwrap returns ErrAgentIDTaken.
func (e *AgentIDTakenError) Unwrap() error { return ErrAgentIDTaken }

// An AgreementError names the member of a fresh agreement's payload that is wrong.
type AgreementError struct {
	Member string // such as aud; empty: the whole
	Reason string
}

func (e *AgreementError) Error() string {
	if e.Member == "" {
		return "agreement: " + e.Reason
	}
	return "agreement: " + e.Member + ": " + e.Reason
}

// Unwrap returns ErrBadAgreement.
func (e *AgreementError) Unwrap() error { return ErrBadAgreement }

// A ScopeError says why nothing was granted.
type ScopeError struct{ Omitted []Omitted }

func (e *ScopeError) Error() string { return ErrNothingGranted.Error() }

// Unwrap returns ErrNothingGranted.
func (e *ScopeError) Unwrap() error { return ErrNothingGranted }

// cause says what is wrong and of which kind it is, for errors.Is.
type cause struct {
	kind error
	text string
}

func (e *cause) Error() string { return e.text }
func (e *cause) Unwrap() error { return e.kind }

func because(kind error, format string, args ...any) error {
	return &cause{kind, fmt.Sprintf(format, args...)}
}
