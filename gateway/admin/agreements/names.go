package agreements

import (
	"context"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/pat"
)

// An AgentName is the operator's name for an agent, such as the customer that the agent acts for. Names need not be unique.
type AgentName struct {
	api.Record `json:"-"`
	Name       string `json:"name,omitempty"` // empty: remove the name
}

// NameAgent sets the name of an agent.
func (o *Operations) NameAgent(ctx context.Context, s *service.Service, n AgentName) (Agent, error) {
	if why := api.NameFault(n.Name); why != "" {
		return Agent{}, api.WrongMember("name", why)
	}
	if err := o.Store.NameAgent(ctx, s.ID, pat.AgentID(n.ID), n.Name); err != nil {
		return Agent{}, err
	}
	return o.Agent(ctx, s, n.Record)
}
