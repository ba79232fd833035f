package admin

import (
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func (a *Server) pats(r *adminRequest) (any, error) {
	service, err := r.of()
	if err != nil {
		return nil, err
	}
	after, limit := r.query.page()
	now := a.Now()
	f := store.TokenFilter{Service: service.ID, AgentID: pat.AgentID(r.query.text("agent_id")), AgreementID: pat.AgreementID(r.query.text("agreement_id")), Limit: limit}
	if r.query.oneOf("state", PATActive) != "" {
		f.ValidAt = now
	}
	var ok bool
	if f.After, ok = store.ParseTokenCursor(after); !ok {
		r.query.wrong("after", "must be the next of the page before")
	}
	if err := r.query.done(); err != nil {
		return nil, err
	}
	kept := a.Operations
	list, err := kept.Tokens(r.Context(), f)
	if err != nil {
		return nil, err
	}
	show := func(t store.ListedToken) PAT { return showPAT(t, now) }
	return pageOf(list, limit, show, func(t store.ListedToken) string { return t.Cursor().String() }), nil
}

func (a *Server) pat(r *adminRequest) (any, error) {
	if _, err := r.only(); err != nil {
		return nil, err
	}
	return a.patNow(r)
}

// patNow shows one PAT, with what the listing knows of revocations.
func (a *Server) patNow(r *adminRequest) (any, error) {
	kept := a.Operations
	list, err := kept.Tokens(r.Context(), store.TokenFilter{Service: r.service.ID, ID: pat.TokenID(r.id), Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, pat.ErrNotFound
	}
	return showPAT(list[0], a.Now()), nil
}

func (a *Server) revokePAT(r *adminRequest) (any, error) {
	err := a.revoke(r, pat.RevokedToken, func(service string) error {
		_, err := a.Agreements.Token(r.Context(), service, pat.TokenID(r.id))
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.patNow(r)
}

// introspect says what a PAT is worth, whoever has it. RFC 7662.
func (a *Server) introspect(r *adminRequest) (any, error) {
	service, err := r.only()
	if err != nil {
		return nil, err
	}
	m, err := r.body()
	if err != nil {
		return nil, err
	}
	token := m.Text("token", true)
	m.Text("token_type_hint", false)
	if err := m.Done(); err != nil {
		return nil, err
	}
	return service.Verifier.Introspect(r.Context(), token, service.Offer().Digest, a.Now())
}
