package pat

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

// Errors of a store, in addition to context errors and an error that wraps "unavailable" of package store.
var (
	ErrAgentIDTaken = errors.New("the agent id belongs to another key")
	ErrKeyTaken     = errors.New("the key belongs to another agent id")
	ErrReplayed     = errors.New("the nonce was used before")
	ErrBlocked      = errors.New("the agent is blocked")
	ErrNotFound     = errors.New("no such record")
	// ErrEnded means that a concurrent revocation ends what is issued at that time; a later time is accepted.
	ErrEnded = errors.New("a revocation ends what is issued at that time")
)

// An IssuerStore holds the state of an Issuer that outlives the process. Every method of it, as of a KeyStore and a ViewStore, is one
// transaction and durable when it returns nil; all are safe for concurrent use, across processes too.
type IssuerStore interface {
	Agreements
	Tokens
	Agents
}

// Agreements are the records of agreements.
type Agreements interface {
	// Agree records an agreement as a whole, or fails with ErrAgentIDTaken, ErrKeyTaken, ErrReplayed or ErrBlocked. If there is an active
	// static agreement with the same (service, agent, key, digest, signature), Agree returns it instead of making another; once it was
	// revoked, any with the same key and digest is ErrReplayed permanently. A static agreement belongs to its principal, and leaves key
	// and id to fresh ones.
	Agree(ctx context.Context, n NewAgreement) (Agreement, error)
	// Agreement returns one agreement, or ErrNotFound.
	Agreement(ctx context.Context, service string, id AgreementID) (Agreement, error)
}

// A NewAgreement is recorded together with the policy document, the agent (made if new; an existing one keeps its status) and its key.
type NewAgreement struct {
	Agreement Agreement
	Policy    PolicyDocument
	Approved  bool // the agent is approved from now on
	// Reserved are the keys that alone may have the id, if the agreement's is one of them. A fresh agreement takes the id from any other
	// key: that key's agreements and PATs end. Empty: the id belongs to the keys that have it.
	Reserved   []keys.ID
	NonceUntil time.Time // how long the agreement's nonce, if it has one, counts as used
}

// Tokens are the records of PATs and of their revocations.
type Tokens interface {
	// Issue records a token. ErrBlocked if its agent is blocked; ErrEnded, under consent also if its agent or policy was revoked at any
	// time since.
	Issue(ctx context.Context, t Token) error
	// Token returns one token, or ErrNotFound.
	Token(ctx context.Context, service string, id TokenID) (Token, error)
	// Newest returns at most n tokens of an agent that have not ended at a time, the newest first. It does not check whether they were
	// revoked.
	Newest(ctx context.Context, service string, agent AgentID, at time.Time, n int) ([]Token, error)
	// Renew records a successor. If the old token was renewed at or after r.RepeatSince, Renew returns the earlier successor instead, and
	// uses neither r.Next nor, unless r.Once, the nonce. ErrBlocked, ErrReplayed; ErrNotFound if the old token is unknown.
	Renew(ctx context.Context, r Renewal) (Token, error)
	// Revoke records r (an agent's also blocks it) before it returns. It may be repeated. The At of an agent's or a policy's revocation
	// is moved after every PAT it names that was issued before, even one that starts later than r.At.
	Revoke(ctx context.Context, r Revocation) error
}

// A Renewal replaces one token by another, of the same service.
type Renewal struct {
	Old         TokenID
	Next        Token
	Ends        time.Time // EndsAt of the old token; every process gets it as a Revocation of kind RevokedRenewed
	RepeatSince time.Time
	Nonce       string // of the proof, used up for the token's key; empty: none
	NonceUntil  time.Time
	Once        bool // the nonce is also used up if the renewal was made before
}

// Agents are the records of agents.
type Agents interface {
	// Agent returns one agent, or ErrNotFound.
	Agent(ctx context.Context, service string, id AgentID) (Agent, error)
	// SetAgent changes one agent, or returns ErrNotFound; ErrKeyTaken if the key is another agent's.
	SetAgent(ctx context.Context, c AgentChange) error
}

// An AgentChange describes a change of an agent. Approval activates its pending agreements.
type AgentChange struct {
	Service  string
	ID       AgentID
	Status   AgentStatus // empty: unchanged, with its reason
	Reason   string
	Approved bool
	AddKey   keys.ID // an additional key; empty: none
}

// A ViewStore is what a View reads. It may also have a method Changed() <-chan struct{}, whose channel is closed when there may be new
// changes.
type ViewStore interface {
	// Changes returns, in commit order, the changes after seq and the newest seq. seq 0 starts with the revocations, blocked agents and
	// keys still in force.
	Changes(ctx context.Context, seq int64) ([]Change, int64, error)
}
