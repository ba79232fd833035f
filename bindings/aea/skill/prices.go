package skill

import (
	"context"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// maxPrices limits the intents of a service that are registered with a price, because the policy is evaluated for each of them.
const maxPrices = 4096

// prices has the prices of intents for an agent that the policy does not name, as of the last reload.
type prices struct {
	of    *service.Service
	byUID map[string]money.Amount
}

// update evaluates the policy of a service, unless that was done before.
func (p *prices) update(ctx context.Context, s *service.Service) {
	if p.of == s {
		return
	}
	p.of, p.byUID = s, map[string]money.Amount{}
	offered := s.Offered()
	for _, in := range offered[:min(len(offered), maxPrices)] {
		if estimate, err := s.Estimate(ctx, "", in.ID); err == nil {
			p.byUID[in.ID] = estimate.Charge
		}
	}
	if ctx.Err() != nil { // some are missing
		p.of = nil
	}
}

// add adds the price of an intent to its description, in whole minor units as in an offer. An intent that is not offered to every agent has
// none.
func (p *prices) add(is search.Attributes, uid string) {
	price, known := p.byUID[uid]
	if !known {
		return
	}
	total, _ := price.Minor()
	is[attributePrice] = []search.Value{search.Int(total)}
	if price.Currency != "" {
		is[attributeCurrency] = []search.Value{search.Text(price.Currency)}
	}
}
