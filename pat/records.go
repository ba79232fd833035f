package pat

import (
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

// An Assurance is how an agreement was made, and so how strong it is as evidence.
type Assurance string

// A fresh agreement is bound to this service, to a time and to a nonce. A static one (a signature over the policy alone) can be replayed
// by anyone who has seen it, and is therefore limited in what it permits. A consent was given by a person on the gateway's own page: no
// key of the agent is known, so it permits no more than a static one.
const (
	Fresh   Assurance = "fresh"
	Static  Assurance = "static"
	Consent Assurance = "consent"
)

// AgentStatus is the decision of the operator (or the gateway itself) about an agent.
type AgentStatus string

// The states of an agent.
const (
	AgentActive  AgentStatus = "active"
	AgentBlocked AgentStatus = "blocked"
)

// An Agent is an id that one key claimed at one service. A principal under static agreements has a separate record, whose id and key are
// claimed only for static agreements.
type Agent struct {
	Service   string
	ID        AgentID // see Principal.Record
	Status    AgentStatus
	Approved  bool      // by the operator, or because pat.allow lists it
	Waiting   bool      // active, with an agreement that waits for approval; set only when one agent or a listing is requested
	Keys      []keys.ID // first the one that claimed the id
	CreatedAt time.Time
	Reason    string // why it is blocked
}

// An Agreement is the evidence that a key accepted a policy. It is kept as long as its proof may be needed, and contains everything
// needed to verify it again offline.
type Agreement struct {
	ID           AgreementID
	Service      string
	Issuer       string // aud it was made for
	AgentID      AgentID
	KeyID        keys.ID // of PublicKey; empty under consent
	PublicKey    []byte  // DER SubjectPublicKeyInfo of the agent's key; under consent of the gateway's, which signed the record of it
	PolicyUID    string
	PolicyDigest string // sha-256:…
	Assurance    Assurance
	// Form is what verified: "jws-agreement", "jws-policy", "detached:served:rsa-pkcs1v15", "consent", or one of Form.Names.
	Form      string
	Signed    []byte // the exact bytes that verified; nil if they are the stored policy document, or part of Signature
	Signature []byte // the signature, or the whole evidence if it includes the signed text, such as a compact JWS
	Nonce     string // jti of a fresh agreement, or of the record of a consent; that of Evidence
	Scope     []string
	State     AgreementState
	CreatedAt time.Time
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
	Family       TokenID // the first of the PATs whose renewals led to this one: its own ID if it was not renewed
	Service      string
	AgreementID  AgreementID
	AgentID      AgentID
	KeyID        keys.ID // cnf.jkt; empty under consent
	PolicyDigest string
	Scope        []string
	LimitRate    int64 // lmt
	LimitPeriod  int64 // seconds
	Assurance    Assurance
	Declared     Declaration // of the agreement, in which it is stored; a Store does not store it here
	Resource     string      // see Claims.Resource; a Store does not store it
	SigningKeyID keys.ID
	IssuedAt     time.Time
	ExpiresAt    time.Time
	// EndsAt is when the token ends before ExpiresAt: after its renewal it is valid for one more minute. Zero: ExpiresAt.
	EndsAt    time.Time
	RenewedTo TokenID // its successor
	RenewedAt time.Time
}

// A RevocationKind names what was revoked.
type RevocationKind string

// What can be revoked. RFC 7009 has only the token.
const (
	RevokedToken     RevocationKind = "token"
	RevokedAgreement RevocationKind = "agreement"
	RevokedAgent     RevocationKind = "agent"  // Subject is the id of the agent's record; the revocation also blocks it
	RevokedPolicy    RevocationKind = "policy" // Subject is the digest
	// RevokedRenewed results from a renewal: the token Subject is accepted only until At. Tokens.Renew records it, so that every process
	// reads the end of the old token's last minute.
	RevokedRenewed RevocationKind = "renewed"
)

// A Revocation ends every PAT it names that was issued up to At (RevokedRenewed: it ends the token at At; RevokedToken: it
// ends the token Subject and all of its Family whenever they were issued).
type Revocation struct {
	Service string
	Kind    RevocationKind
	Subject string
	At      time.Time
	Until   time.Time // when the last PAT it can concern has finally expired; the record may be deleted then
	Reason  string
}

// A Change is one event that every process must read: exactly one of its pointers is set.
type Change struct {
	Seq        int64 // commit order
	Revocation *Revocation
	Agent      *Agent
	Key        *keys.SigningKey
}
