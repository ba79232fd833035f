package agreements

import (
	"context"
	"encoding/json"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// An Agreement is the operator's view of an agreement. ExportAgreement returns the evidence.
type Agreement struct {
	ID           pat.AgreementID    `json:"id"`
	AgentID      pat.AgentID        `json:"agent_id"`
	AgentName    string             `json:"agent_name,omitempty"` // the operator's name for the agent; only in listings
	KeyID        keys.ID            `json:"jkt"`                  // empty for a consent
	Issuer       string             `json:"issuer"`
	PolicyUID    string             `json:"policy_uid"`
	PolicyDigest string             `json:"policy_digest"`
	Assurance    pat.Assurance      `json:"assurance"` // fresh, static, consent or implied
	Form         string             `json:"form"`
	Scope        []string           `json:"scope,omitempty"` // as signed; absent in listings, and if the agreement has no scope
	State        pat.AgreementState `json:"state"`           // pending, active or revoked
	CreatedAt    time.Time          `json:"created_at"`
	Consent      *ConsentInfo       `json:"consent,omitempty"` // nil: the agent signed the agreement
}

// ConsentInfo is the gateway's record of a person's consent. All fields except Invitation and Budget are claims of the client.
type ConsentInfo struct {
	ClientID     string `json:"client_id"` // URL of a client-ID metadata document, or the id of a registration
	ClientName   string `json:"client_name"`
	RedirectHost string `json:"redirect_host"`        // the host to which the person was redirected
	Invitation   string `json:"invitation,omitempty"` // the operator's name for the invitation
	Budget       string `json:"budget,omitempty"`     // what the client may spend, such as 5.00 EUR/month; empty: nothing
}

// AgreementOf returns the operator's view of an agreement.
func AgreementOf(a pat.Agreement) Agreement {
	out := Agreement{
		ID: a.ID, AgentID: a.AgentID, KeyID: a.KeyID, Issuer: a.Issuer, PolicyUID: a.PolicyUID, PolicyDigest: a.PolicyDigest,
		Assurance: a.Assurance, Form: a.Form, Scope: a.Scope, State: a.State, CreatedAt: a.CreatedAt.UTC(),
	}
	if r, ok := a.Consent(); ok {
		out.Consent = &ConsentInfo{ClientID: r.ClientID, ClientName: r.ClientName, RedirectHost: r.RedirectHost, Invitation: r.Invitation}
		if b, err := a.Budget(); err == nil && b != nil {
			out.Consent.Budget = b.String()
		}
	}
	return out
}

// An AgreementQuery selects agreements of a service.
type AgreementQuery struct {
	Service string `query:"service"`
	api.PageRequest
	// If a field is empty, it selects all agreements.
	AgentID      pat.AgentID        `query:"agent_id"`
	PolicyDigest string             `query:"policy_digest"`
	Without      string             `query:"without"` // digest of a policy: only agents that have no active agreement to it
	State        pat.AgreementState `query:"state" enum:"pending,active,revoked"`
}

// Agreements lists agreements, newest first.
func (o *Operations) Agreements(ctx context.Context, s *service.Service, q AgreementQuery) (api.Page[Agreement], error) {
	f := store.AgreementFilter{
		Service: s.ID, AgentID: q.AgentID, PolicyDigest: q.PolicyDigest, Without: q.Without, State: q.State,
		Limit: q.Max(),
	}
	var ok bool
	if f.After, ok = store.ParseCursor(q.After); !ok {
		return api.Page[Agreement]{}, api.WrongParameter("after", "must be the value of next in the previous page")
	}
	list, err := o.Store.Agreements(ctx, f)
	if err != nil {
		return api.Page[Agreement]{}, err
	}
	page := api.PageOf(list, q.Max(), AgreementOf, func(a pat.Agreement) string { return store.AgreementCursor(a).String() })
	return api.AddNames(ctx, o.Store, s.ID, page, func(a *Agreement) (pat.AgentID, *string) { return a.AgentID, &a.AgentName })
}

// Agreement returns one agreement.
func (o *Operations) Agreement(ctx context.Context, s *service.Service, r api.Record) (Agreement, error) {
	agreement, err := o.Store.Agreement(ctx, s.ID, pat.AgreementID(r.ID))
	if err != nil {
		return Agreement{}, err
	}
	return AgreementOf(agreement), nil
}

// ExportAgreement returns the bundle that proves an agreement to anyone: see pat.VerifyExport.
func (o *Operations) ExportAgreement(ctx context.Context, s *service.Service, r api.Record) (json.RawMessage, error) {
	agreement, err := o.Store.Agreement(ctx, s.ID, pat.AgreementID(r.ID))
	if err != nil {
		return nil, err
	}
	policy, err := o.Store.Policy(ctx, s.ID, agreement.PolicyDigest)
	if err != nil {
		return nil, err
	}
	budgets, err := o.budgets(ctx, s.ID, agreement)
	if err != nil {
		return nil, err
	}
	return pat.Export(agreement, policy, door.Forms(o.Doors), budgets...)
}

// budgets returns the changed budgets of a consent. If a budget is stored without its key, and the key is still valid,
// budgets adds the key.
func (o *Operations) budgets(ctx context.Context, service string, a pat.Agreement) ([]pat.SignedBudget, error) {
	if a.Assurance != pat.Consent {
		return nil, nil
	}
	list, err := o.Store.Budgets(ctx, service, a.ID)
	if err != nil {
		return nil, err
	}
	for i, b := range list {
		if len(b.PublicKey) > 0 {
			continue
		}
		if key, known := o.Keyring.Lookup(ctx, b.KeyID(), o.Now()); known {
			list[i].PublicKey = key.Key.SPKI()
		}
	}
	return list, nil
}

// RevokeAgreement ends an agreement and all PATs issued for it. The agent may agree again.
func (o *Operations) RevokeAgreement(ctx context.Context, s *service.Service, r api.Revocation) (Agreement, error) {
	err := revoke(ctx, s, pat.RevokedAgreement, r, func() error {
		_, err := o.Store.Agreement(ctx, s.ID, pat.AgreementID(r.ID))
		return err
	})
	if err != nil {
		return Agreement{}, err
	}
	return o.Agreement(ctx, s, r.Record)
}

// revoke ends the record with the id in r, unless find returns an error. find must return an error if the record does not exist: its id is
// probably misspelt, and the operator must not assume that the record has ended.
func revoke(ctx context.Context, s *service.Service, kind pat.RevocationKind, r api.Revocation, find func() error) error {
	why, err := r.Text()
	if err != nil {
		return err
	}
	if err := find(); err != nil {
		return err
	}
	return s.Issuance.Revoke(ctx, pat.Revocation{Kind: kind, Subject: r.ID, Reason: why})
}
