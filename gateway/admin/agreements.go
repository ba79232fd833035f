package admin

import (
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func (a *Server) agreements(r *adminRequest) (any, error) {
	service, err := r.of()
	if err != nil {
		return nil, err
	}
	after, limit := r.query.page()
	f := store.AgreementFilter{
		Service: service.ID, AgentID: pat.AgentID(r.query.text("agent_id")), PolicyDigest: r.query.text("policy_digest"),
		State: pat.AgreementState(r.query.oneOf("state", string(pat.AgreementPending), string(pat.AgreementActive), string(pat.AgreementRevoked))),
		After: pat.AgreementID(after), Limit: limit,
	}
	if err := r.query.done(); err != nil {
		return nil, err
	}
	kept := a.Operations
	list, err := kept.Agreements(r.Context(), f)
	if err != nil {
		return nil, err
	}
	return pageOf(list, limit, showAgreement, func(a pat.Agreement) string { return string(a.ID) }), nil
}

func (a *Server) agreement(r *adminRequest) (any, error) {
	if _, err := r.only(); err != nil {
		return nil, err
	}
	return a.agreementNow(r)
}

func (a *Server) agreementNow(r *adminRequest) (any, error) {
	agreement, err := a.Agreements.Agreement(r.Context(), r.service.ID, pat.AgreementID(r.id))
	if err != nil {
		return nil, err
	}
	return showAgreement(agreement), nil
}

// exportAgreement answers with the bundle that proves the agreement to anybody.
func (a *Server) exportAgreement(r *adminRequest) (any, error) {
	service, err := r.only()
	if err != nil {
		return nil, err
	}
	agreement, err := a.Agreements.Agreement(r.Context(), service.ID, pat.AgreementID(r.id))
	if err != nil {
		return nil, err
	}
	policy, err := a.Agreements.Policy(r.Context(), service.ID, agreement.PolicyDigest)
	if err != nil {
		return nil, err
	}
	bundle, err := pat.Export(agreement, policy)
	if err != nil {
		return nil, err
	}
	return rawJSON(append(bundle, '\n')), nil
}

func (a *Server) revokeAgreement(r *adminRequest) (any, error) {
	err := a.revoke(r, pat.RevokedAgreement, func(service string) error {
		_, err := a.Agreements.Agreement(r.Context(), service, pat.AgreementID(r.id))
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.agreementNow(r)
}

// revoke ends what is known. What is not known is most likely misspelt, and the operator must not believe
// it ended.
func (a *Server) revoke(r *adminRequest, kind pat.RevocationKind, known func(service string) error) error {
	service, err := r.only()
	if err != nil {
		return err
	}
	why, err := r.reason()
	if err != nil {
		return err
	}
	if err := known(service.ID); err != nil {
		return err
	}
	return service.Issuance.Revoke(r.Context(), kind, r.id, why)
}

// policies lists the one offered now and those that were offered or agreed to before, the newest first.
func (a *Server) policies(r *adminRequest) (any, error) {
	service, err := r.of()
	if err != nil {
		return nil, err
	}
	after, limit := r.query.page()
	if after != "" {
		r.query.wrong("after", "has no meaning here: policies come in one page")
	}
	if err := r.query.done(); err != nil {
		return nil, err
	}
	kept := a.Operations
	list, err := kept.RecentPolicies(r.Context(), service.ID, limit)
	if err != nil {
		return nil, err
	}
	now := service.Offer()
	out := Page[Policy]{Items: []Policy{{UID: now.UID, Digest: now.Digest, Offered: true}}}
	for _, p := range list {
		if p.Digest == now.Digest {
			out.Items[0].FirstOffered = p.FirstOffered
			continue
		}
		out.Items = append(out.Items, Policy{UID: p.UID, Digest: p.Digest, FirstOffered: p.FirstOffered})
	}
	out.Items = out.Items[:min(len(out.Items), limit)]
	return out, nil
}

func (a *Server) revokePolicy(r *adminRequest) (any, error) {
	err := a.revoke(r, pat.RevokedPolicy, func(service string) error {
		_, err := a.Agreements.Policy(r.Context(), service, r.id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"digest": r.id, "revoked": true}, nil
}
