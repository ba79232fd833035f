package pat

import (
	"cmp"
	"errors"
	"fmt"
)

// The errors of this package, in addition to those of an IssuerStore. Each comment ends with the reason that agents receive.
var (
	// ErrBadSignature means that the signature does not verify with the key, or is not a signature. BAD_SIGNATURE.
	ErrBadSignature = errors.New("the signature does not verify with the key")
	// ErrBadAgentID means that an agent id is not 1 to 200 visible ASCII characters. INVALID_PARAMETER.
	ErrBadAgentID = errors.New("an agent id must be 1 to 200 visible ASCII characters")
	// ErrBadAgreement means that the signature verifies, but the signed text is not an agreement with this service. Every such error is an
	// *AgreementError. INVALID_PARAMETER.
	ErrBadAgreement = errors.New("the agreement is not well formed")
	// ErrBadScope means that the requested scope is not well formed. Every such error is a *ScopeFormError. INVALID_PARAMETER.
	ErrBadScope = errors.New("the requested scope is not well formed")
	// ErrPolicyMismatch means that the signed policy is not the one that is currently offered. Every such error is a *PolicyMismatchError.
	// POLICY_MISMATCH.
	ErrPolicyMismatch = errors.New("the signed policy is not the one that is currently offered")
	// ErrAgreementReplayed means that the agreement's jti was used before. AGREEMENT_REPLAYED.
	ErrAgreementReplayed = errors.New("the agreement was used before")
	// ErrAgreementStale means that the time of the agreement is more than five minutes from now, in either direction, or that its envelope has
	// expired or expires more than fifteen minutes from now. AGREEMENT_STALE.
	ErrAgreementStale = errors.New("the time of the agreement is too far from now")
	// ErrAgreementMisdirected means that the agreement was made for a different recipient. Every such error is a *MisdirectedError.
	// AGREEMENT_MISDIRECTED.
	ErrAgreementMisdirected = errors.New("the agreement was made for a different recipient")
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
	ErrInvalid = errors.New("the PAT was not issued by this service")
	// ErrExpired means that exp has passed. EXPIRED_TOKEN.
	ErrExpired = errors.New("the PAT has expired")
	// ErrNotYetValid means that nbf or iat is in the future. INVALID_TOKEN.
	ErrNotYetValid = errors.New("the PAT is not valid yet")
	// ErrRevoked means that the PAT, its agreement, its agent or its policy was revoked. REVOKED_TOKEN.
	ErrRevoked = errors.New("the PAT was revoked")
	// ErrPolicyChanged means that the agreed policy is no longer offered. Every such error is a *PolicyChangedError.
	// POLICY_REQUIRES_AGREEMENT.
	ErrPolicyChanged = errors.New("the agreed policy is no longer offered")
	// ErrUnavailable means that the revocations were not read recently enough to accept a PAT. STORE_UNAVAILABLE.
	ErrUnavailable = errors.New("the revocations were not read recently enough")

	// ErrBadProof means that a proof of key is malformed, too old, or made for a different call. Every such error is a *ProofError. If the
	// signature does not verify, the error is ErrBadSignature instead. POLICY_REQUIRES_VERIFICATION.
	ErrBadProof = errors.New("the proof of key is not valid for this request")
	// ErrProofRequired means that a proof of key is required. POLICY_REQUIRES_VERIFICATION.
	ErrProofRequired = errors.New("a proof of key is required")
	// ErrProofReplayed means that the proof's jti was used before. PROOF_REPLAYED.
	ErrProofReplayed = errors.New("the proof of key was used before")

	// ErrBadExport means that a bundle does not prove the agreement it contains.
	ErrBadExport = errors.New("the bundle does not prove an agreement")
)

// A MisdirectedError names the recipient that the agreement must be made for.
type MisdirectedError struct {
	Member string // htu, or the member of Evidence that names a different service
	Want   string
}

func (e *MisdirectedError) Error() string {
	return fmt.Sprintf("%s: want %s %s", ErrAgreementMisdirected, e.Member, e.Want)
}

// Unwrap returns ErrAgreementMisdirected.
func (e *MisdirectedError) Unwrap() error { return ErrAgreementMisdirected }

// A PolicyMismatchError names the policy that is currently offered. SignedDigest is empty if the signed policy could not be identified.
type PolicyMismatchError struct {
	UID, Digest  string // the uid and the digest of the offered policy
	SignedDigest string
	// If only one member is wrong, Member is its name (policy.uid, or typ for the header) and Reason describes the required value. Otherwise
	// both are empty.
	Member, Reason string
}

func (e *PolicyMismatchError) Error() string {
	if e.Member != "" {
		return fmt.Sprintf("%s: %s: %s", ErrPolicyMismatch, e.Member, e.Reason)
	}
	return fmt.Sprintf("%s: the offered policy is %s, digest %s", ErrPolicyMismatch, e.UID, e.Digest)
}

// Unwrap returns ErrPolicyMismatch.
func (e *PolicyMismatchError) Unwrap() error { return ErrPolicyMismatch }

// A PolicyChangedError contains the digests of the agreed and of the offered policy.
type PolicyChangedError struct{ Agreed, Offered string }

func (e *PolicyChangedError) Error() string {
	return fmt.Sprintf("%s: agreed %s, offered %s", ErrPolicyChanged, e.Agreed, e.Offered)
}

// Unwrap returns ErrPolicyChanged.
func (e *PolicyChangedError) Unwrap() error { return ErrPolicyChanged }

// An AgentIDTakenError suggests an agent id that is derived from the key.
type AgentIDTakenError struct{ AgentID, Suggestion AgentID }

func (e *AgentIDTakenError) Error() string {
	return fmt.Sprintf("%s; use %s instead", ErrAgentIDTaken, e.Suggestion)
}

// Unwrap returns ErrAgentIDTaken.
func (e *AgentIDTakenError) Unwrap() error { return ErrAgentIDTaken }

// A KeyTakenError names the agent id that a key belongs to. Only the sender of a fresh agreement receives it, because its signature proves
// that the sender holds the key. Anyone who has seen a static agreement can send it.
type KeyTakenError struct{ AgentID AgentID }

func (e *KeyTakenError) Error() string { return ErrKeyTaken.Error() }

// Unwrap returns ErrKeyTaken.
func (e *KeyTakenError) Unwrap() error { return ErrKeyTaken }

// A BlockedError identifies a blocked agent. The id is proved by the signature of the PAT or of the agent's agreement.
type BlockedError struct {
	AgentID AgentID
	TokenID TokenID // the PAT that was sent; empty for an agreement
}

func (e *BlockedError) Error() string { return ErrBlocked.Error() }

// Unwrap returns ErrBlocked.
func (e *BlockedError) Unwrap() error { return ErrBlocked }

// An AgreementError names the invalid member of a fresh agreement's payload.
type AgreementError struct {
	Member string // such as aud; empty means the whole payload
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

// A ProofError names the invalid part of a proof of key: a member of its header or payload, or its signature. It quotes nothing from the
// proof.
type ProofError struct {
	Member string // typ, kid, signature, payload, iat, jti, aud, pat or digest
	Reason string // its required value
	kind   error  // ErrBadSignature; nil means ErrBadProof
}

func (e *ProofError) Error() string { return "proof of key: " + e.Member + ": " + e.Reason }

// Unwrap returns ErrBadProof, or ErrBadSignature if the agreed key did not sign the proof.
func (e *ProofError) Unwrap() error { return cmp.Or(e.kind, ErrBadProof) }

// A ScopeFormError describes what is wrong with a requested scope.
type ScopeFormError struct{ Reason string }

func (e *ScopeFormError) Error() string { return e.Reason }

// Unwrap returns ErrBadScope.
func (e *ScopeFormError) Unwrap() error { return ErrBadScope }

// A PlanError names the plans of the policy that an agreement can choose.
type PlanError struct {
	Plan  string   // the plan that was chosen; empty: none, or one that messages must not contain
	Plans []string // empty: the policy has no plans
	// Unknown means that the chosen plan is not one of Plans, or that the request and the agreement name different plans. If Unknown is false,
	// the agreement permits nothing, because no requested intent is available under its plan, or without a plan.
	Unknown bool
	Omitted []OmittedEntry
}

// UnknownPlan returns the error for an agreement whose plan is not one of plans.
func UnknownPlan(plan string, plans []string) *PlanError {
	return &PlanError{Plan: namable(plan), Plans: plans, Unknown: true}
}

func (e *PlanError) Error() string {
	if e.Unknown {
		return "the policy has no such plan"
	}
	return "the agreement chooses no plan that includes the requested intents"
}

// A ScopeError contains the reasons why nothing was granted.
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
