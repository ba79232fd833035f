package pat

import (
	"context"
	"errors"
	"time"
)

// An Assurance says how an agreement was made, and so how much it is worth.
type Assurance string

// Fresh agreements are bound to us, to a time and to a nonce; static ones (a signature over the bare
// policy) can be replayed by whoever saw them, and are contained.
const (
	Fresh  Assurance = "fresh"
	Static Assurance = "static"
)

// AgentStatus is what the operator (or the gateway itself) decided about an agent.
type AgentStatus string

// The states of an agent.
const (
	AgentActive  AgentStatus = "active"
	AgentBlocked AgentStatus = "blocked"
)

// An Agent is an id that one key claimed at one service.
type Agent struct {
	Service   string
	ID        AgentID
	Status    AgentStatus
	Approved  bool    // by the operator, or by standing in pat.allow
	Keys      []KeyID // the first to claim the id first
	CreatedAt time.Time
	Reason    string // why it is blocked
}

// An Agreement is the evidence that a key accepted a policy. It is kept as long as it may have to be
// proved: everything needed to verify it again offline is in it.
type Agreement struct {
	ID           AgreementID
	Service      string
	Issuer       string // aud it was made for
	AgentID      AgentID
	KeyID        KeyID  // of PublicKey
	PublicKey    []byte // DER SubjectPublicKeyInfo
	PolicyUID    string
	PolicyDigest string // sha-256:…
	Assurance    Assurance
	Form         string // which form of signature verified, such as "jws-agreement", "jws-policy", "detached:served:rsa-pkcs1v15"
	Signed       []byte // the exact bytes that verified; nil where they are the stored policy document, or part of the JWS in Signature
	Signature    []byte // the signature, or the whole compact JWS
	Nonce        string // jti of a fresh agreement
	Scope        []string
	State        AgreementState
	CreatedAt    time.Time
}

// AgreementState moves from pending (awaiting approval) to active, and ends as revoked.
type AgreementState string

// The states of an agreement.
const (
	AgreementPending AgreementState = "pending"
	AgreementActive  AgreementState = "active"
	AgreementRevoked AgreementState = "revoked"
)

// A PolicyDocument is one policy as it was offered, kept once per digest and service.
type PolicyDocument struct {
	Service, Digest, UID string
	Bytes                []byte // exactly as served
	FirstOffered         time.Time
}

// A Token is the record of one PAT. The token itself is never stored.
type Token struct {
	ID           TokenID
	Service      string
	AgreementID  AgreementID
	AgentID      AgentID
	KeyID        KeyID // cnf.jkt
	PolicyDigest string
	Scope        []string
	LimitRate    int64 // lmt
	LimitPeriod  int64 // seconds
	Assurance    Assurance
	Declared     Declared // of its agreement, which keeps it; a Store does not
	SigningKeyID KeyID
	IssuedAt     time.Time
	ExpiresAt    time.Time
	// EndsAt is when the token stops working for another reason: renewal gives it a last minute. Zero: ExpiresAt.
	EndsAt    time.Time
	RenewedTo TokenID // its successor
	RenewedAt time.Time
}

// A RevocationKind names what was revoked.
type RevocationKind string

// What can be revoked. RFC 7009 knows only the token.
const (
	RevokedToken     RevocationKind = "token"
	RevokedAgreement RevocationKind = "agreement"
	RevokedAgent     RevocationKind = "agent"  // Subject is the agent id; also blocks it
	RevokedPolicy    RevocationKind = "policy" // Subject is the digest
	// RevokedRenewed is what renewal leaves behind: the token Subject works until At and no longer.
	// Store.Renew records it, so that every process knows the end of the old token's last minute.
	RevokedRenewed RevocationKind = "renewed"
)

// A Revocation ends every PAT it names that was issued up to At (RevokedRenewed: it ends the token at At).
type Revocation struct {
	Service string
	Kind    RevocationKind
	Subject string
	At      time.Time
	Until   time.Time // when the last PAT it can concern has expired for good; then it may be forgotten
	Reason  string
}

// A Change is one thing every process must know: exactly one of its pointers is set.
type Change struct {
	Seq        int64 // commit order
	Revocation *Revocation
	Agent      *Agent
	Key        *SigningKey
}

// A SigningKey is the public half of a key that signs PATs.
type SigningKey struct {
	ID        KeyID  // kid
	Algorithm string // EdDSA, ES256, RS256
	JWK       []byte // the public key, RFC 7517
	CreatedAt time.Time
	NotAfter  time.Time // when the last PAT it signed has expired; zero while it still signs
}

// Errors of a Store, beside context errors and an error that wraps the store's own "unavailable".
var (
	ErrAgentIDTaken = errors.New("the agent id belongs to another key")
	ErrKeyTaken     = errors.New("the key belongs to another agent id")
	ErrReplayed     = errors.New("the nonce was used before")
	ErrBlocked      = errors.New("the agent is blocked")
	ErrNotFound     = errors.New("no such record")
	// ErrEnded means that a revocation, made meanwhile, ends what is issued at that time: issue it later.
	ErrEnded = errors.New("a revocation ends what is issued at that time")
)

// A Store keeps what must outlive the process. Every method is one transaction and durable when it
// returns nil; all are safe for concurrent use, across processes too.
type Store interface {
	// Agree records an agreement together with the policy document, the agent (made if new, with
	// Approved as given; an existing agent keeps its status) and its key, and uses up the nonce (if any)
	// until nonceUntil. It fails as a whole with ErrAgentIDTaken, ErrKeyTaken, ErrReplayed or ErrBlocked.
	// A static agreement with the same (service, agent, key, digest, signature) that is still active is
	// returned instead of being made again.
	Agree(ctx context.Context, a Agreement, p PolicyDocument, approved bool, nonceUntil time.Time) (Agreement, error)
	// Agreement returns one, or ErrNotFound.
	Agreement(ctx context.Context, service string, id AgreementID) (Agreement, error)
	// Policy returns the document of a digest, or ErrNotFound.
	Policy(ctx context.Context, service, digest string) (PolicyDocument, error)
	// Issue records a token. ErrBlocked if its agent has been blocked meanwhile; ErrEnded.
	Issue(ctx context.Context, t Token) error
	// Token returns one, or ErrNotFound.
	Token(ctx context.Context, service string, id TokenID) (Token, error)
	// Renew records next as the successor of old, whose EndsAt becomes ends (told to every process as a Revocation
	// of kind RevokedRenewed, At ends), and uses up the nonce (empty: none)
	// of key until nonceUntil. If old was renewed at or after within, the earlier successor is returned instead
	// and next and the nonce are not used. ErrBlocked, ErrReplayed; ErrNotFound if old is unknown.
	Renew(ctx context.Context, old TokenID, next Token, ends, within time.Time, nonce string, nonceUntil time.Time) (Token, error)
	// Revoke records r (an agent's also blocks it) before it returns. Revoking twice is fine. The At of an agent's or a policy's is
	// moved behind every PAT it names that was issued before, also one that starts later than r.At.
	Revoke(ctx context.Context, r Revocation) error
	// SetAgent changes an agent's status or approval; a new key is added where addKey is not empty.
	SetAgent(ctx context.Context, service string, id AgentID, status AgentStatus, approved bool, addKey KeyID, reason string) error
	// Agent returns one, or ErrNotFound.
	Agent(ctx context.Context, service string, id AgentID) (Agent, error)
	// AddSigningKey registers a public key; the same id again updates NotAfter.
	AddSigningKey(ctx context.Context, k SigningKey) error
	// SigningKeys lists those whose NotAfter is zero or after now.
	SigningKeys(ctx context.Context, now time.Time) ([]SigningKey, error)
	// Changes returns, in commit order, what happened after seq and the newest seq. seq 0 starts with the
	// revocations, blocked agents and keys still in force.
	Changes(ctx context.Context, seq int64) ([]Change, int64, error)
}
