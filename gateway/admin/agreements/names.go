package agreements

import (
	"context"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/pat"
)

// An AgentName is the operator's name for an agent, such as the customer that the agent acts for. Names need not be unique.
type AgentName struct {
	api.Record `json:"-"`
	Name       string `json:"name,omitempty"` // empty: remove the name
}

// NameAgent sets the name of an agent.
func (o *Operations) NameAgent(ctx context.Context, n AgentName) (Agent, error) {
	service, err := o.services.Find(n.Service)
	if err != nil {
		return Agent{}, err
	}
	if why := api.NameFault(n.Name); why != "" {
		return Agent{}, api.WrongMember("name", why)
	}
	if err := o.store.NameAgent(ctx, service.ID, pat.AgentID(n.ID), n.Name); err != nil {
		return Agent{}, err
	}
	return o.Agent(ctx, n.Record)
}
