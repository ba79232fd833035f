package billing

import (
	"context"
	"fmt"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

const (
	maxAddress = 6   // lines
	maxTaxID   = 40  // characters of a tax id
	maxEmail   = 254 // characters: RFC 5321 section 4.5.3.1.3
)

// A Buyer is the customer to whom the invoices of an agent are made out.
type Buyer struct {
	AgentID     pat.AgentID `json:"agent_id"`
	store.Buyer             // zero if the agent has no buyer
}

// A BuyerChange states the buyer of an agent. The zero store.Buyer removes it.
type BuyerChange struct {
	api.Record `json:"-"`
	store.Buyer
}

// Buyer returns the buyer of an agent.
func (o *Operations) Buyer(ctx context.Context, s *service.Service, r api.Record) (Buyer, error) {
	b, err := o.Store.Buyer(ctx, s.ID, pat.AgentID(r.ID))
	if err != nil {
		return Buyer{}, err
	}
	out := Buyer{AgentID: pat.AgentID(r.ID)}
	if b != nil {
		out.Buyer = *b
	}
	return out, nil
}

// SetBuyer sets the customer to whom the invoices of an agent are made out. It does not change invoices that were issued before.
func (o *Operations) SetBuyer(ctx context.Context, s *service.Service, c BuyerChange) (Buyer, error) {
	var b *store.Buyer
	if c.Name != "" || c.Country != "" || c.TaxID != "" || c.Email != "" || c.Reference != "" || c.VAT != "" || len(c.Address) > 0 {
		if err := checkBuyer(&c.Buyer); err != nil {
			return Buyer{}, err
		}
		b = &c.Buyer
	}
	if err := o.Store.SetBuyer(ctx, s.ID, pat.AgentID(c.ID), b); err != nil {
		return Buyer{}, err
	}
	return o.Buyer(ctx, s, c.Record)
}

// checkBuyer returns a refusal if a buyer lacks a member that an invoice needs, or has a value that is too long or has several lines.
func checkBuyer(b *store.Buyer) error {
	for _, t := range []struct {
		name, text string
		most       int
		required   bool
	}{
		{"name", b.Name, api.MaxName, true},
		{"tax_id", b.TaxID, maxTaxID, b.VAT == store.TaxReverseCharge},
		{"email", b.Email, maxEmail, false},
		{"reference", b.Reference, api.MaxName, false},
	} {
		switch {
		case t.text == "" && t.required && t.name == "tax_id":
			return api.WrongMember(t.name, "is required for reverse charge")
		case t.text == "" && t.required:
			return api.WrongMember(t.name, "is required")
		case len(t.text) > t.most || api.NameFault(t.text) != "":
			return api.WrongMember(t.name, fmt.Sprintf("must be one line of at most %d characters", t.most))
		}
	}
	if len(b.Address) == 0 || len(b.Address) > maxAddress {
		return api.WrongMember("address", "must have 1 to 6 lines")
	}
	for _, line := range b.Address {
		if line == "" || api.NameFault(line) != "" {
			return api.WrongMember("address", "must have lines of at most 200 characters, without control characters")
		}
	}
	if !config.IsCountry(b.Country) {
		return api.WrongMember("country", "must be a country code of two capital letters, such as FR")
	}
	switch b.VAT {
	case "", store.TaxStandard, store.TaxReverseCharge, store.TaxExempt:
		return nil
	}
	return api.WrongMember("vat", "must be standard, reverse-charge or exempt")
}

// noBuyer is the refusal to issue an invoice without a buyer.
func noBuyer() *reason.Refusal {
	return reason.MalformedRequest.Refusal("The agent has no buyer to whom an invoice could be made out.").
		With("suggestion", "State the buyer with uimgate agents invoice-to AGENT --name NAME --address LINE --country CODE.")
}
