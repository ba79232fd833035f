package agreements

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// An Agent is the operator's view of an agent.
type Agent struct {
	AgentID   pat.AgentID     `json:"agent_id"`
	Status    pat.AgentStatus `json:"status"` // active, blocked, or Waiting
	Approved  bool            `json:"approved"`
	Keys      []keys.ID       `json:"keys"` // RFC 7638 thumbprints
	CreatedAt time.Time       `json:"created_at"`
	Reason    string          `json:"reason,omitempty"` // why the agent is blocked
	Name      string          `json:"name,omitempty"`   // the name that the operator gave to the agent
}

// Waiting is the status of an agent that has agreed and is waiting for the operator's approval.
const Waiting pat.AgentStatus = "waiting"

func showAgent(a pat.Agent) Agent {
	known := a.Keys
	if known == nil {
		known = []keys.ID{}
	}
	status := a.Status
	if a.Waiting {
		status = Waiting
	}
	return Agent{AgentID: a.ID, Status: status, Approved: a.Approved, Keys: known, CreatedAt: a.CreatedAt.UTC(), Reason: a.Reason}
}

// An AgentQuery selects agents of a service.
type AgentQuery struct {
	Service string `query:"service"`
	api.PageRequest
	Status   pat.AgentStatus `query:"status" enum:"active,waiting,blocked"` // active (waiting or not), blocked, or Waiting; empty: all
	Approved string          `query:"approved" enum:"true,false"`           // true or false; empty: all
	Search   string          `query:"search"`                               // the beginning of the id or the name; empty: all
}

// Agents lists agents, sorted by id.
func (o *Operations) Agents(ctx context.Context, s *service.Service, q AgentQuery) (api.Page[Agent], error) {
	f := store.AgentFilter{Service: s.ID, Status: q.Status, Prefix: q.Search, After: pat.AgentID(q.After), Limit: q.Max()}
	if q.Status == Waiting {
		f.Status, f.Waiting = "", true
	}
	if q.Approved != "" {
		approved := q.Approved == "true"
		f.Approved = &approved
	}
	list, err := o.Store.Agents(ctx, f)
	if err != nil {
		return api.Page[Agent]{}, err
	}
	page := api.PageOf(list, q.Max(), showAgent, func(a pat.Agent) string { return string(a.ID) })
	return api.AddNames(ctx, o.Store, s.ID, page, func(a *Agent) (pat.AgentID, *string) { return a.AgentID, &a.Name })
}

// Agent returns one agent.
func (o *Operations) Agent(ctx context.Context, s *service.Service, r api.Record) (Agent, error) {
	agent, err := o.Store.Agent(ctx, s.ID, pat.AgentID(r.ID))
	if err != nil {
		return Agent{}, err
	}
	shown := showAgent(agent)
	shown.Name, err = api.NameOf(ctx, o.Store, s.ID, agent.ID)
	return shown, err
}

// BlockAgent ends all PATs of an agent; the gateway then issues no new ones to that agent. The id need not be in use:
// no agent can claim a blocked id until it is unblocked.
func (o *Operations) BlockAgent(ctx context.Context, s *service.Service, r api.Revocation) (Agent, error) {
	why, err := r.Text()
	if err != nil {
		return Agent{}, err
	}
	if _, err := pat.ParseRecord(r.ID); err != nil {
		return Agent{}, reason.MalformedRequest.Refusal("An agent id must be 1 to 200 visible ASCII characters.")
	}
	if err := s.Issuance.Revoke(ctx, pat.Revocation{Kind: pat.RevokedAgent, Subject: r.ID, Reason: why}); err != nil {
		return Agent{}, err
	}
	return o.Agent(ctx, s, r.Record)
}

// UnblockAgent lets a blocked agent agree again. Its previous PATs remain revoked.
func (o *Operations) UnblockAgent(ctx context.Context, s *service.Service, r api.Record) (Agent, error) {
	if err := s.Issuance.Unblock(ctx, pat.AgentID(r.ID)); err != nil {
		return Agent{}, err
	}
	return o.Agent(ctx, s, r)
}

// ApproveAgent approves an agent that is waiting, and returns the record that was approved: see pat.Issuer.ToApprove.
func (o *Operations) ApproveAgent(ctx context.Context, s *service.Service, r api.Record) (Agent, error) {
	approved, err := s.Issuance.ToApprove(ctx, pat.AgentID(r.ID))
	if err != nil {
		return Agent{}, err
	}
	if err := s.Issuance.Approve(ctx, approved); err != nil {
		return Agent{}, err
	}
	r.ID = string(approved)
	return o.Agent(ctx, s, r)
}

// An AgentKey is an additional key for an agent.
type AgentKey struct {
	api.Record `json:"-"`
	KeyID      string `json:"jkt"` // RFC 7638 thumbprint with SHA-256
}

// Details returns the details of the change for the audit stream.
func (k AgentKey) Details() map[string]string { return map[string]string{"jkt": k.KeyID} }

// AddAgentKey adds a key that may act for an agent.
func (o *Operations) AddAgentKey(ctx context.Context, s *service.Service, k AgentKey) (Agent, error) {
	key, err := keys.ParseID(k.KeyID)
	if err != nil {
		return Agent{}, api.WrongMember("jkt", "must be the thumbprint (RFC 7638, SHA-256) of a public key, 43 characters")
	}
	if err := s.Issuance.AddKey(ctx, pat.AgentID(k.ID), key); err != nil {
		return Agent{}, err
	}
	return o.Agent(ctx, s, k.Record)
}
