package pat

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

// The errors of a store, in addition to context errors and errors that wrap store.ErrUnavailable.
var (
	ErrAgentIDTaken = errors.New("the agent id belongs to another key")
	ErrKeyTaken     = errors.New("the key belongs to another agent id")
	ErrReplayed     = errors.New("the nonce was used before")
	ErrBlocked      = errors.New("the agent is blocked")
	ErrNotFound     = errors.New("no such record")
	// ErrEnded means that a concurrent revocation ends PATs with this time of issue. A later time of issue is accepted.
	ErrEnded = errors.New("a revocation ends PATs that are issued at this time")
)

// An IssuerStore holds the state of an Issuer that outlives the process. Every method of an IssuerStore, a ViewStore and a keys.Store is
// one transaction, which is durable when the method returns nil. The methods are safe for concurrent use, even by several processes.
type IssuerStore interface {
	Agreements
	Tokens
	Agents
}

// Agreements are the records of agreements.
type Agreements interface {
	// Agree records an agreement completely, or returns ErrAgentIDTaken, ErrKeyTaken, ErrReplayed or ErrBlocked. If there is an active static
	// agreement with the same service, agent, key, digest and signature, Agree returns that agreement and records nothing. Once a static
	// agreement has been revoked, Agree returns ErrReplayed for every static agreement with the same key and digest. A static agreement
	// belongs to its principal, and does not claim the key and the id for fresh agreements.
	//
	// The same holds for implied agreements, with three differences. Agree returns the earlier agreement if it has the same scope, even with
	// another signature, unless its agent or its policy has been revoked since. It also returns an earlier agreement that is pending. An
	// implied agreement belongs to the agent itself, but takes no id from another key.
	Agree(ctx context.Context, n NewAgreement) (Agreement, error)
	// Agreement returns one agreement, or ErrNotFound.
	Agreement(ctx context.Context, service string, id AgreementID) (Agreement, error)
}

// A NewAgreement is recorded together with its policy document, its agent (a new agent is created; an existing one keeps its status) and
// the key of the agent.
type NewAgreement struct {
	Agreement Agreement
	Policy    PolicyDocument
	Approved  bool // the agent is approved from now on
	// Reserved are the only keys that may have the id; the key of the agreement is one of them. A fresh agreement takes the id from every
	// other key, whose agreements and PATs then end. If Reserved is empty, the id belongs to the keys that have it.
	Reserved   []keys.ID
	NonceUntil time.Time // time until which the nonce of the agreement, if it has one, counts as used
	// PolicyFrom is when the policy takes effect; zero, or a time in the past, means that it is in force. OnDate means that the agreement
	// takes effect then; otherwise it takes effect at once. An agreement with a plan ends those of the agent with another plan when it takes
	// effect. Of the agreements that take effect on one date in the future, only those with the plan chosen last stay.
	PolicyFrom time.Time
	OnDate     bool
	// Again means that the person has consented for this agent before; without it, a consent with an id in use is refused with
	// ErrAgentIDTaken.
	Again bool
}

// Tokens are the records of PATs and of their revocations.
type Tokens interface {
	// Issue records a token. It returns ErrBlocked if the agent is blocked, and ErrEnded if a revocation ends the token. Under consent, it
	// also returns ErrEnded if the agent or the policy was revoked at any time since the consent.
	Issue(ctx context.Context, t Token) error
	// Token returns one token, or ErrNotFound.
	Token(ctx context.Context, service string, id TokenID) (Token, error)
	// Newest returns at most n tokens of an agent that have not ended at the given time, the newest first. It does not check whether they were
	// revoked.
	Newest(ctx context.Context, service string, agent AgentID, at time.Time, n int) ([]Token, error)
	// Renew records a successor and returns it. If the old token was already renewed at or after r.RepeatSince, Renew returns the earlier
	// successor instead; it ignores r.Next, and uses up the nonce only if r.Once is set. Errors: ErrBlocked, ErrReplayed, and ErrNotFound if
	// the old token is unknown.
	Renew(ctx context.Context, r Renewal) (Token, error)
	// Revoke records r durably. The revocation of an agent also blocks the agent. Revoke may be repeated. For an agent or a policy, Revoke
	// moves At so that it is not before the IssuedAt of any PAT that was issued earlier, even if that time is after r.At.
	Revoke(ctx context.Context, r Revocation) error
}

// A Renewal replaces one token with another token of the same service.
type Renewal struct {
	Old         TokenID
	Next        Token
	Ends        time.Time // EndsAt of the old token; every process gets it as a Revocation of kind RevokedRenewed
	RepeatSince time.Time
	Nonce       string // the nonce of the proof, used up for the token's key; empty if there is none
	NonceUntil  time.Time
	Once        bool // the nonce is also used up if this is a repetition
}

// Agents are the records of agents.
type Agents interface {
	// Agent returns one agent, or ErrNotFound.
	Agent(ctx context.Context, service string, id AgentID) (Agent, error)
	// SetAgent changes one agent. It returns ErrNotFound if the agent does not exist, and ErrKeyTaken if the key belongs to another agent.
	SetAgent(ctx context.Context, c AgentChange) error
}

// An AgentChange describes a change of an agent. Approval activates its pending agreements.
type AgentChange struct {
	Service  string
	ID       AgentID
	Status   AgentStatus // empty leaves the status and the reason unchanged
	Reason   string
	Approved bool
	AddKey   keys.ID // an additional key; empty if there is none
}

// A ViewStore is the source that a View reads. It may also have a method Changed() <-chan struct{}, whose channel is closed when there may
// be new changes.
type ViewStore interface {
	// Changes returns, in commit order, the changes after seq, and the newest seq. For seq 0, it first returns the revocations, blocked
	// agents, keys and stops that are still in force.
	Changes(ctx context.Context, seq int64) ([]Change, int64, error)
}
