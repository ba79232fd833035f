package admin

import (
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func (a *Server) agents(r *adminRequest) (any, error) {
	service, err := r.of()
	if err != nil {
		return nil, err
	}
	after, limit := r.query.page()
	f := store.AgentFilter{
		Service: service.ID, Status: pat.AgentStatus(r.query.oneOf("status", string(pat.AgentActive), string(pat.AgentBlocked))),
		Approved: r.query.flag("approved"), After: pat.AgentID(after), Limit: limit,
	}
	if err := r.query.done(); err != nil {
		return nil, err
	}
	kept := a.Operations
	list, err := kept.Agents(r.Context(), f)
	if err != nil {
		return nil, err
	}
	return pageOf(list, limit, showAgent, func(a pat.Agent) string { return string(a.ID) }), nil
}

func (a *Server) agent(r *adminRequest) (any, error) {
	if _, err := r.only(); err != nil {
		return nil, err
	}
	return a.agentNow(r)
}

func (a *Server) agentNow(r *adminRequest) (any, error) {
	agent, err := a.Agreements.Agent(r.Context(), r.service.ID, pat.AgentID(r.id))
	if err != nil {
		return nil, err
	}
	return showAgent(agent), nil
}

// blockAgent also blocks an id that nobody claimed yet: nobody can claim it then.
func (a *Server) blockAgent(r *adminRequest) (any, error) {
	service, err := r.only()
	if err != nil {
		return nil, err
	}
	why, err := r.reason()
	if err != nil {
		return nil, err
	}
	if _, err := pat.ParseAgentID(r.id); err != nil {
		return nil, reason.MalformedRequest.Refusal("An agent id is 1 to 200 visible ASCII characters.")
	}
	if err := service.Issuance.Revoke(r.Context(), pat.RevokedAgent, r.id, why); err != nil {
		return nil, err
	}
	return a.agentNow(r)
}

func (a *Server) unblockAgent(r *adminRequest) (any, error) {
	return a.changeAgent(r, func(s *service.Service) error { return s.Issuance.Unblock(r.Context(), pat.AgentID(r.id)) })
}

func (a *Server) approveAgent(r *adminRequest) (any, error) {
	return a.changeAgent(r, func(s *service.Service) error { return s.Issuance.Approve(r.Context(), pat.AgentID(r.id)) })
}

func (a *Server) changeAgent(r *adminRequest, change func(*service.Service) error) (any, error) {
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

func (a *Server) addAgentKey(r *adminRequest) (any, error) {
	service, err := r.only()
	if err != nil {
		return nil, err
	}
	m, err := r.body()
	if err != nil {
		return nil, err
	}
	jkt := m.Text("jkt", true)
	if err := m.Done(); err != nil {
		return nil, err
	}
	key, err := pat.ParseKeyID(jkt)
	if err != nil {
		return nil, m.Wrong("jkt", "must be the thumbprint (RFC 7638, SHA-256) of a public key, 43 characters")
	}
	if err := service.Issuance.AddKey(r.Context(), pat.AgentID(r.id), key); err != nil {
		return nil, err
	}
	return a.agentNow(r)
}
