package billing

import (
	"context"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// Parties are the two sides of an invoice or a credit note.
type Parties struct {
	Seller *Seller      `json:"seller,omitempty"` // nil: the configuration names none
	Buyer  *store.Buyer `json:"buyer,omitempty"`  // nil: not stated
}

// A Seller is services[].invoices.seller of the configuration.
type Seller struct {
	Name    string   `json:"name"`
	Address []string `json:"address,omitempty"`
	Country string   `json:"country,omitempty"`
	TaxID   string   `json:"tax_id,omitempty"`
	Contact string   `json:"contact,omitempty"`
}

// A Tax is the value added tax of a sum, in whole minor units of the currency, such as cents: Net + Amount = Payable.
type Tax struct {
	Rule    store.TaxRule `json:"rule"`
	Rate    string        `json:"rate"` // percent
	Net     string        `json:"net"`
	Amount  string        `json:"amount"`
	Payable string        `json:"payable"`
}

// A taxation is how a service taxes its charges.
type taxation struct {
	VAT    money.Percent `json:"vat"` // 0: not at all
	Prices config.Prices `json:"prices"`
}

func taxationOf(s *service.Service) taxation { return taxation{s.Invoices.VAT, s.Invoices.Prices} }

// parties returns the parties of the documents for an agent.
func (o *Operations) parties(ctx context.Context, s *service.Service, id pat.AgentID) (p Parties, err error) {
	if c := s.Invoices.Seller; c.Name != "" {
		p.Seller = &Seller{c.Name, c.Address, c.Country, c.TaxID, c.Contact}
	}
	p.Buyer, err = o.Store.Buyer(ctx, s.ID, id)
	return p, err
}

// tax returns the tax of a sum, or nil if the service has no tax and the buyer no rule. The sum is rounded first. If the prices include the
// tax, the sum is the payable amount, even if the buyer pays no tax.
func (p *Parties) tax(c taxation, sum money.Amount) *Tax {
	rule := store.TaxStandard
	if p.Buyer != nil && p.Buyer.VAT != "" {
		rule = p.Buyer.VAT
	}
	if c.VAT == 0 && rule == store.TaxStandard {
		return nil
	}
	rate := c.VAT
	if rule != store.TaxStandard {
		rate = 0
	}
	net := sum.Round()
	payable := net
	var tax money.Amount
	if c.Prices == config.PricesNet {
		tax = rate.Of(net)
		payable.Nano += tax.Nano
	} else {
		tax = rate.Within(payable)
		net.Nano -= tax.Nano
	}
	return &Tax{Rule: rule, Rate: rate.String(), Net: net.Decimal(), Amount: tax.Decimal(), Payable: payable.Decimal()}
}
