package pat

import (
	"strconv"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

// An Assurance describes how an agreement was made, and so how strong it is as evidence.
type Assurance string

// A fresh agreement is bound to this service, to a time and to a nonce. A static agreement (a signature over only the policy) can be
// replayed by anyone who has seen it, so the gateway limits the calls under it. A consent was given by a person on the gateway's own page:
// no key of the agent is known, so a consent permits no more than a static agreement. An implied agreement is a signed message that calls
// an intent, and that the documents of the service treat as an agreement to the policy. The agent need not have read the policy, so
// nothing is ever charged under an implied agreement, not even with a proof of key.
const (
	Fresh   Assurance = "fresh"
	Static  Assurance = "static"
	Consent Assurance = "consent"
	Implied Assurance = "implied"
)

// lastingEvidence reports whether an agent can have several PATs under one agreement without another signature about the policy. The end of
// one of them must then end the agreement.
func (a Assurance) lastingEvidence() bool { return a == Consent || a == Implied }

// AgentStatus is the decision of the operator (or the gateway itself) about an agent.
type AgentStatus string

// The states of an agent.
const (
	AgentActive  AgentStatus = "active"
	AgentBlocked AgentStatus = "blocked"
)

// An Agent is the record of an agent id that a key claimed at one service. A principal under static agreements has a separate record, which
// claims the id and the key only for static agreements.
type Agent struct {
	Service   string
	ID        AgentID // see Principal.Record
	Status    AgentStatus
	Approved  bool      // by the operator, or because pat.allow lists it
	Waiting   bool      // active, with an agreement that waits for approval; set only by reads of one agent or of a listing
	Keys      []keys.ID // the first is the key that claimed the id
	CreatedAt time.Time
	Reason    string // why it is blocked
}

// An Agreement is the evidence that a key accepted a policy. It is kept as long as its proof may be needed, and contains everything
// needed to verify it again offline.
type Agreement struct {
	ID           AgreementID
	Service      string
	Issuer       string // the aud that it was made for
	AgentID      AgentID
	KeyID        keys.ID // the id of PublicKey; empty under consent
	PublicKey    []byte  // DER SubjectPublicKeyInfo of the agent's key; under consent, of the gateway's key that signed the record
	PolicyUID    string
	PolicyDigest string // sha-256:…
	Assurance    Assurance
	// Form is the form that was verified: "jws-agreement", "jws-policy", "detached:served:rsa-pkcs1v15", "consent", or one of Form.Names.
	Form      string
	Signed    []byte // the exact bytes that were signed; nil if they are the stored policy document, or part of Signature
	Signature []byte // the signature, or the whole evidence if it includes the signed text, such as a compact JWS
	Nonce     string // jti of a fresh agreement or of the record of a consent, or the nonce of Evidence
	Scope     []string
	Plan      string // the plan of the policy that the agent or the person chose; empty: none
	State     AgreementState
	CreatedAt time.Time
	NewBudget string // under consent, the newest record of a changed budget (see BudgetRecord); empty: the budget was not changed
}

// AgreementState is pending (awaiting approval), then active, and finally revoked.
type AgreementState string

// The states of an agreement.
const (
	AgreementPending AgreementState = "pending"
	AgreementActive  AgreementState = "active"
	AgreementRevoked AgreementState = "revoked"
)

// A PolicyDocument is one policy as it was offered, stored once per digest and service.
type PolicyDocument struct {
	Service, Digest, UID string
	Bytes                []byte // exactly as served
	FirstOffered         time.Time
}

// A Token is the record of one PAT. The token itself is never stored.
type Token struct {
	ID           TokenID
	Family       TokenID // ID of the first PAT in the chain of renewals; equal to ID if this is the first
	Service      string
	AgreementID  AgreementID
	AgentID      AgentID
	KeyID        keys.ID // cnf.jkt; empty under consent
	PolicyDigest string
	Scope        []string
	LimitRate    int64 // lmt
	LimitPeriod  int64 // seconds
	Assurance    Assurance
	Declared     Declaration // from the agreement; a store does not store it with the token
	Resource     string      // see Claims.Resource; a store does not store it
	Budget       *Budget     // see Claims.Budget; a store does not keep it
	SigningKeyID keys.ID
	IssuedAt     time.Time
	// NotBefore is the claim nbf, or zero if the token is valid as soon as it is issued. A store does not keep it.
	NotBefore time.Time
	ExpiresAt time.Time
	// EndsAt is set if the token ends before ExpiresAt: after its renewal it is valid for one more minute. Zero means that it ends at
	// ExpiresAt.
	EndsAt    time.Time
	RenewedTo TokenID // its successor
	RenewedAt time.Time
}

// Start returns when the token becomes valid.
func (t *Token) Start() time.Time {
	if t.NotBefore.IsZero() {
		return t.IssuedAt
	}
	return t.NotBefore
}

// A RevocationKind is the kind of thing that was revoked.
type RevocationKind string

// The kinds of revocations. RFC 7009 defines only that of a token.
const (
	RevokedToken     RevocationKind = "token"
	RevokedAgreement RevocationKind = "agreement"
	RevokedAgent     RevocationKind = "agent"  // Subject is the id of the agent's record; the revocation also blocks it
	RevokedPolicy    RevocationKind = "policy" // Subject is the digest
	// RevokedPlan is the result of a change of the plan: PATs of one agent with an earlier plan end. Subject is a PlanSubject.
	RevokedPlan RevocationKind = "plan"
	// RevokedRenewed is the result of a renewal: the token Subject is accepted only until At. Tokens.Renew records it, so that every process
	// reads when the old token ends.
	RevokedRenewed RevocationKind = "renewed"
)

// PlanSubject returns the Subject of a RevokedPlan, which ends PATs with one plan in an agent's record. If date is zero, it ends those
// whose nbf is not after At. Otherwise it ends those that were issued in advance, with date as their nbf.
func PlanSubject(record AgentID, plan string, date time.Time) string {
	var at int64
	if !date.IsZero() {
		at = date.Unix()
	}
	return plan + " " + strconv.FormatInt(at, 10) + " " + string(record)
}

// A Revocation ends every PAT that it names and that was issued up to At. Some kinds have other effects: RevokedRenewed ends the token
// Subject at At; RevokedToken ends the token Subject and its whole Family, and RevokedAgreement ends all PATs under the agreement, whenever
// they were issued. For RevokedPlan see PlanSubject.
type Revocation struct {
	Service string
	Kind    RevocationKind
	Subject string
	At      time.Time
	Until   time.Time // when the last PAT that it can concern has finally expired; the record may then be deleted
	Reason  string
}

// A Change is one event that every process must read: exactly one of its pointers is set.
type Change struct {
	Seq        int64 // position in the commit order
	Revocation *Revocation
	Agent      *Agent
	Key        *keys.SigningKey
	Stop       *Stop
}
