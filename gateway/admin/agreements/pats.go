package agreements

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// The states of a PAT, as operators see them.
const (
	PATActive  = "active"
	PATRenewed = "renewed" // a renewal has ended the PAT
	PATRevoked = "revoked"
	PATExpired = "expired"
)

// A PAT is the record of a PAT. The PAT itself is never stored.
type PAT struct {
	ID           pat.TokenID     `json:"jti"`
	AgentID      pat.AgentID     `json:"agent_id"`
	AgreementID  pat.AgreementID `json:"agreement_id"`
	KeyID        keys.ID         `json:"jkt"`
	PolicyDigest string          `json:"policy_digest"`
	Assurance    pat.Assurance   `json:"assurance"`
	Scope        []string        `json:"scope"`
	Limit        pat.Limit       `json:"lmt"`
	SigningKeyID keys.ID         `json:"kid"`
	State        string          `json:"state"`
	IssuedAt     time.Time       `json:"issued_at"`
	ExpiresAt    time.Time       `json:"expires_at"`
	EndsAt       time.Time       `json:"ends_at,omitzero"` // when a renewal ends the PAT, before ExpiresAt
	RenewedTo    pat.TokenID     `json:"renewed_to,omitempty"`
}

func showPAT(t store.ListedToken, now time.Time) PAT {
	state := PATActive
	switch {
	case !now.Before(t.ExpiresAt):
		state = PATExpired
	case t.Revoked:
		state = PATRevoked
	case !t.EndsAt.IsZero() && !now.Before(t.EndsAt):
		state = PATRenewed
	}
	return PAT{
		ID: t.ID, AgentID: t.AgentID, AgreementID: t.AgreementID, KeyID: t.KeyID, PolicyDigest: t.PolicyDigest, Assurance: t.Assurance,
		Scope: t.Scope, Limit: pat.Limit{Rate: t.LimitRate, Period: t.LimitPeriod}, SigningKeyID: t.SigningKeyID, State: state,
		IssuedAt: t.IssuedAt.UTC(), ExpiresAt: t.ExpiresAt.UTC(), EndsAt: t.EndsAt, RenewedTo: t.RenewedTo,
	}
}

// A PATQuery selects PATs of a service.
type PATQuery struct {
	Service string `query:"service"`
	api.PageRequest
	AgentID     pat.AgentID     `query:"agent_id"`            // empty: all agents
	AgreementID pat.AgreementID `query:"agreement_id"`        // empty: all agreements
	State       string          `query:"state" enum:"active"` // PATActive; empty: all
}

// PATs lists the records of PATs, newest first.
func (o *Operations) PATs(ctx context.Context, s *service.Service, q PATQuery) (api.Page[PAT], error) {
	now := o.Now()
	f := store.TokenFilter{Service: s.ID, AgentID: q.AgentID, AgreementID: q.AgreementID, Limit: q.Max()}
	if q.State != "" {
		f.ValidAt = now
	}
	var ok bool
	if f.After, ok = store.ParseCursor(q.After); !ok {
		return api.Page[PAT]{}, api.WrongParameter("after", "must be the value of next in the previous page")
	}
	list, err := o.Store.Tokens(ctx, f)
	show := func(t store.ListedToken) PAT { return showPAT(t, now) }
	return api.PageOf(list, q.Max(), show, func(t store.ListedToken) string { return t.Cursor().String() }), err
}

// PAT returns the record of one PAT, by its jti.
func (o *Operations) PAT(ctx context.Context, s *service.Service, r api.Record) (PAT, error) {
	list, err := o.Store.Tokens(ctx, store.TokenFilter{Service: s.ID, ID: pat.TokenID(r.ID), Limit: 1}) // includes the revocation
	if err != nil {
		return PAT{}, err
	}
	if len(list) == 0 {
		return PAT{}, pat.ErrNotFound
	}
	return showPAT(list[0], o.Now()), nil
}

// RevokePAT ends one PAT and all its renewals.
func (o *Operations) RevokePAT(ctx context.Context, s *service.Service, r api.Revocation) (PAT, error) {
	err := revoke(ctx, s, pat.RevokedToken, r, func() error {
		_, err := o.Store.Token(ctx, s.ID, pat.TokenID(r.ID))
		return err
	})
	if err != nil {
		return PAT{}, err
	}
	return o.PAT(ctx, s, r.Record)
}

// A PresentedToken is a token to introspect. It need not be a valid PAT.
type PresentedToken struct {
	Service string `json:"-" query:"service"`
	Token   string `json:"token"`
	Hint    string `json:"token_type_hint,omitempty"` // ignored (RFC 7662)
}

// Introspect reports whether a PAT of any agent is valid, and returns its claims (RFC 7662).
func (o *Operations) Introspect(ctx context.Context, s *service.Service, t PresentedToken) (pat.Introspection, error) {
	return s.Introspect(ctx, t.Token, o.Now())
}
