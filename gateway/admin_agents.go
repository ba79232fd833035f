package gateway

import (
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func (a *admin) agents(r *adminRequest) (any, error) {
	service, err := r.of()
	if err != nil {
		return nil, err
	}
	after, limit := r.query.page()
	f := store.AgentFilter{
		Service: service.ID, Status: pat.AgentStatus(r.query.oneOf("status", string(pat.AgentActive), string(pat.AgentBlocked))),
		Approved: r.query.flag("approved"), After: after, Limit: limit,
	}
	if err := r.query.done(); err != nil {
		return nil, err
	}
	kept := a.server.deps.Operations
	list, err := kept.Agents(r.Context(), f)
	if err != nil {
		return nil, err
	}
	return pageOf(list, limit, showAgent, func(a pat.Agent) string { return a.ID }), nil
}

func (a *admin) agent(r *adminRequest) (any, error) {
	if _, err := r.only(); err != nil {
		return nil, err
	}
	return a.agentNow(r)
}

func (a *admin) agentNow(r *adminRequest) (any, error) {
	agent, err := a.patStore().Agent(r.Context(), r.service.ID, r.id)
	if err != nil {
		return nil, err
	}
	return showAgent(agent), nil
}

// blockAgent also blocks an id that nobody claimed yet: nobody can claim it then.
func (a *admin) blockAgent(r *adminRequest) (any, error) {
	service, err := r.only()
	if err != nil {
		return nil, err
	}
	why, err := r.reason()
	if err != nil {
		return nil, err
	}
	if !pat.ValidAgentID(r.id) {
		return nil, newAdminFault("MALFORMED_REQUEST", "An agent id is 1 to 200 visible ASCII characters.")
	}
	if err := service.Issuance.Revoke(r.Context(), pat.RevokedAgent, r.id, why); err != nil {
		return nil, err
	}
	return a.agentNow(r)
}

func (a *admin) unblockAgent(r *adminRequest) (any, error) {
	return a.changeAgent(r, func(s *Service) error { return s.Issuance.Unblock(r.Context(), r.id) })
}

func (a *admin) approveAgent(r *adminRequest) (any, error) {
	return a.changeAgent(r, func(s *Service) error { return s.Issuance.Approve(r.Context(), r.id) })
}

func (a *admin) changeAgent(r *adminRequest, change func(*Service) error) (any, error) {
	service, err := r.only()
	if err != nil {
		return nil, err
	}
	if err := r.noBody(); err != nil {
		return nil, err
	}
	if err := change(service); err != nil {
		return nil, err
	}
	return a.agentNow(r)
}

func (a *admin) addAgentKey(r *adminRequest) (any, error) {
	service, err := r.only()
	if err != nil {
		return nil, err
	}
	m, err := r.body()
	if err != nil {
		return nil, err
	}
	thumbprint := m.text("jkt", true)
	if err := m.done(); err != nil {
		return nil, err
	}
	if !isThumbprint(thumbprint) {
		return nil, m.wrong("jkt", "must be the thumbprint (RFC 7638, SHA-256) of a public key, 43 characters")
	}
	if err := service.Issuance.AddKey(r.Context(), r.id, thumbprint); err != nil {
		return nil, err
	}
	return a.agentNow(r)
}
