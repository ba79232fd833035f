package pat

import (
	"errors"
	"fmt"
)

// The errors of this package, in addition to those of a Store. Each names the reason of the refusal that agents get.
var (
	// ErrBadSignature means that the signature does not verify with the key, or is not a signature. BAD_SIGNATURE.
	ErrBadSignature = errors.New("the signature does not verify with the key")
	// ErrBadAgentID means that an agent id is not 1 to 200 visible ASCII characters. INVALID_PARAMETER.
	ErrBadAgentID = errors.New("an agent id is 1 to 200 visible ASCII characters")
	// ErrBadAgreement means that the signature verifies, but what it signs is not an agreement with this service. Every
	// such error is an *AgreementError. INVALID_PARAMETER.
	ErrBadAgreement = errors.New("the agreement is not well formed")
	// ErrBadScope means that the requested scope is not a list this package can grant from. Every such error is a
	// *ScopeFormError. INVALID_PARAMETER.
	ErrBadScope = errors.New("the scope asked for is not acceptable")
	// ErrPolicyMismatch means that the signed policy is not the one offered now. Every such error is a *PolicyMismatchError.
	// POLICY_MISMATCH.
	ErrPolicyMismatch = errors.New("the signed policy is not the one offered now")
	// ErrAgreementReplayed means that the agreement's jti was used before. AGREEMENT_REPLAYED.
	ErrAgreementReplayed = errors.New("the agreement was used before")
	// ErrAgreementStale means that the agreement was made more than five minutes from now, or that its envelope does not expire within
	// the next fifteen. AGREEMENT_STALE.
	ErrAgreementStale = errors.New("the agreement was not made now")
	// ErrAgreementMisdirected means that the agreement was made for another recipient. Every such error is a *MisdirectedError.
	// AGREEMENT_MISDIRECTED.
	ErrAgreementMisdirected = errors.New("the agreement was made to be sent elsewhere")
	// ErrFreshRequired means that only a fresh agreement (or a proof of key) is accepted. FRESH_AGREEMENT_REQUIRED.
	ErrFreshRequired = errors.New("an agreement that cannot be replayed, or a proof of key, is required")
	// ErrNotAdmitted means that the operator admits only listed or approved agents. INSUFFICIENT_PERMISSIONS.
	ErrNotAdmitted = errors.New("the service does not admit this agent")
	// ErrNothingGranted means that no entry of the scope is permitted. Every such error is a *ScopeError.
	// INSUFFICIENT_PERMISSIONS.
	ErrNothingGranted = errors.New("nothing in the scope is permitted to this agent")
	// ErrBusy means that too many signatures are being verified. OVERLOADED.
	ErrBusy = errors.New("too many signatures are being verified")

	// ErrMissing means that there is no token. MISSING_TOKEN.
	ErrMissing = errors.New("no PAT was sent")
	// ErrInvalid means that the token is not a PAT of this service. INVALID_TOKEN.
	ErrInvalid = errors.New("the PAT is not one this service issued")
	// ErrExpired means that exp is past. EXPIRED_TOKEN.
	ErrExpired = errors.New("the PAT has expired")
	// ErrNotYetValid means that nbf or iat is in the future. INVALID_TOKEN.
	ErrNotYetValid = errors.New("the PAT is not valid yet")
	// ErrRevoked means that the PAT, its agreement, its agent or its policy was revoked. REVOKED_TOKEN.
	ErrRevoked = errors.New("the PAT was revoked")
	// ErrPolicyChanged means that the agreed policy is no longer offered. Every such error is a *PolicyChangedError.
	// POLICY_REQUIRES_AGREEMENT.
	ErrPolicyChanged = errors.New("the policy agreed to is no longer the one offered")
	// ErrUnavailable means that the revocations were not read recently enough to accept a PAT. STORE_UNAVAILABLE.
	ErrUnavailable = errors.New("revocations are not known recently enough")

	// ErrBadProof means that a proof of key is malformed, too old, or made for another call. Every such error is a *ProofError.
	// POLICY_REQUIRES_VERIFICATION. A signature that does not verify is ErrBadSignature.
	ErrBadProof = errors.New("the proof of key does not prove this")
	// ErrProofRequired means that a proof of key is required. POLICY_REQUIRES_VERIFICATION.
	ErrProofRequired = errors.New("a proof of key is required")
	// ErrProofReplayed means that the proof's jti was used before. PROOF_REPLAYED.
	ErrProofReplayed = errors.New("the proof of key was used before")

	// ErrBadExport means that a bundle does not prove the agreement it contains.
	ErrBadExport = errors.New("the bundle does not prove an agreement")
)

// A MisdirectedError names the right recipient of agreements.
type MisdirectedError struct {
	Member string // htu; for Evidence the member that names another service
	Want   string
}

func (e *MisdirectedError) Error() string {
	return fmt.Sprintf("%s: want %s %s", ErrAgreementMisdirected, e.Member, e.Want)
}

// Unwrap returns ErrAgreementMisdirected.
func (e *MisdirectedError) Unwrap() error { return ErrAgreementMisdirected }

// A PolicyMismatchError names the present policy. SignedDigest is empty if the signed policy could not be identified.
type PolicyMismatchError struct {
	UID, Digest  string // offered now
	SignedDigest string
	// Member is typ of the header or policy.uid if only that is wrong, and Reason its required value. Otherwise both are empty.
	Member, Reason string
}

func (e *PolicyMismatchError) Error() string {
	if e.Member != "" {
		return fmt.Sprintf("%s: %s: %s", ErrPolicyMismatch, e.Member, e.Reason)
	}
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

// An AgentIDTakenError suggests an id derived from the key.
type AgentIDTakenError struct{ AgentID, Suggestion AgentID }

func (e *AgentIDTakenError) Error() string {
	return fmt.Sprintf("%s; %s is free for yours", ErrAgentIDTaken, e.Suggestion)
}

// Unwrap returns ErrAgentIDTaken.
func (e *AgentIDTakenError) Unwrap() error { return ErrAgentIDTaken }

// An AgreementError names the invalid member of a fresh agreement's payload.
type AgreementError struct {
	Member string // such as aud; empty: the whole payload
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

// A ProofError names the invalid part of a proof of key: a member of its header or payload, or its signature. It quotes nothing of the
// proof itself.
type ProofError struct {
	Member string // typ, kid, signature, payload, iat, jti, aud, pat or digest
	Reason string // its required value
	kind   error  // ErrBadSignature; nil: ErrBadProof
}

func (e *ProofError) Error() string { return "proof of key: " + e.Member + ": " + e.Reason }

// Unwrap returns ErrBadProof, or ErrBadSignature if the agreed key has not signed the proof.
func (e *ProofError) Unwrap() error {
	if e.kind != nil {
		return e.kind
	}
	return ErrBadProof
}

// A ScopeFormError describes what is wrong with a requested scope.
type ScopeFormError struct{ Reason string }

func (e *ScopeFormError) Error() string { return e.Reason }

// Unwrap returns ErrBadScope.
func (e *ScopeFormError) Unwrap() error { return ErrBadScope }

// A ScopeError carries the reasons why nothing was granted.
type ScopeError struct{ Omitted []OmittedEntry }

func (e *ScopeError) Error() string { return ErrNothingGranted.Error() }

// Unwrap returns ErrNothingGranted.
func (e *ScopeError) Unwrap() error { return ErrNothingGranted }

// A cause is an error text with a kind for errors.Is.
type cause struct {
	kind error
	text string
}

func (e *cause) Error() string { return e.text }
func (e *cause) Unwrap() error { return e.kind }

func errorOfKind(kind error, format string, args ...any) error {
	return &cause{kind, fmt.Sprintf(format, args...)}
}
