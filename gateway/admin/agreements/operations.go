// Package agreements has the operations on agents, their agreements and PATs, and on the keys that sign these.
package agreements

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// A Store is the state that the operations read and change.
type Store interface {
	api.Names
	Agent(ctx context.Context, service string, id pat.AgentID) (pat.Agent, error)
	Agents(ctx context.Context, f store.AgentFilter) ([]pat.Agent, error)
	Agreement(ctx context.Context, service string, id pat.AgreementID) (pat.Agreement, error)
	Agreements(ctx context.Context, f store.AgreementFilter) ([]pat.Agreement, error)
	// Budgets returns the changed budgets of a consent, the oldest first.
	Budgets(ctx context.Context, service string, id pat.AgreementID) ([]pat.SignedBudget, error)
	Policy(ctx context.Context, service, digest string) (pat.PolicyDocument, error)
	Token(ctx context.Context, service string, jti pat.TokenID) (pat.Token, error)
	Tokens(ctx context.Context, f store.TokenFilter) ([]store.ListedToken, error)
	// NameAgent sets the name of an agent; "" removes it. The error wraps pat.ErrNotFound if the agent does not exist.
	NameAgent(ctx context.Context, service string, id pat.AgentID, name string) error
	// AddInvitation stores an invitation to consent.
	AddInvitation(ctx context.Context, i store.Invitation) error
}

// Operations carries out the operations on agents and agreements. It is safe for concurrent use.
type Operations struct {
	Store   Store
	Now     func() time.Time
	Keyring *keys.Keyring
	Doors   []door.Module // the other protocols that agents can use
}
