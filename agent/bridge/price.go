package bridge

import (
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/agent/bridge/outbox"
	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/money"
)

// A price is the expected cost of a call.
type price struct {
	most   money.Amount // the amount to reserve; if it is zero, nothing is reserved
	known  bool         // the terms state the price
	proved bool         // the terms state the price, and the service has never charged more
}

// An agreedIntent is an intent under the policy with the given digest.
type agreedIntent struct {
	digest string
	intent intents.UID
}

// An excess is a charge beyond the terms of a service.
type excess struct {
	most  money.Amount // the highest charge so far; zero if there is none in the currency of the terms
	other money.Amount // a charge in a currency that is not in the terms; zero if there is none
}

// A currencyError means that a service has charged in a currency that its terms do not state or, if the terms state none, in a
// currency without a budget. The bridge does not call the intent again under these terms.
type currencyError struct{ charged money.Amount }

func (e *currencyError) Error() string {
	return "the service has charged " + e.charged.String() + " for this tool, in a currency that its terms or the budget do not include"
}

// priceOf returns the maximum cost of a call under the agreed policy: the price in the terms, or an earlier charge of the service
// if that is higher. Prices in agents.json are not binding and are ignored. The error is a *currencyError.
func (s *service) priceOf(uid intents.UID, digest string, terms Terms) (price, error) {
	term, known := terms.Intents[uid.String()]
	s.mu.Lock()
	beyond, exceeded := s.exceeded[agreedIntent{digest, uid}]
	s.mu.Unlock()
	if !beyond.other.IsZero() {
		return price{}, &currencyError{beyond.other}
	}
	p := price{most: term.Most, known: known, proved: known && !exceeded}
	if beyond.most.Nano > p.most.Nano {
		p.most = beyond.most
	}
	return p, nil
}

// exceeds reports whether a call may cost more than was reserved for an earlier call under the same key. The earlier call may not have
// reached the service; in that case, the service executes the repeated call at the present price.
func (p price) exceeds(earlier *outbox.Call) bool {
	r := earlier.Reserved
	return r != nil && p.most != r.Amount && (p.most.Currency != r.Amount.Currency || p.most.Nano > r.Amount.Nano)
}

// more returns the part of the price that an earlier call has not reserved.
func (p price) more(earlier *outbox.Call) money.Amount {
	most := p.most
	if r := earlier.Reserved; r != nil && r.Amount.Currency == most.Currency {
		most.Nano -= r.Amount.Nano
	}
	return most
}

// note records a charge that exceeds the price. The record remains valid until the owner accepts another policy, even if the
// service offers other policies in between.
func (s *service) note(uid intents.UID, digest string, p price, charged money.Amount) {
	other := p.most.Currency != charged.Currency
	switch {
	case charged.IsZero(), !other && charged.Nano <= p.most.Nano:
		return
	case p.most.Currency == "" && s.b.limited(charged.Currency):
		if !p.known {
			return // the charge is counted; the price of the next call is unknown
		}
		other = false
	}
	s.b.o.Log(fmt.Sprintf("%s charged %s for %s, more than its policy states", oneLine(s.target, maxTitle), charged, uid))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exceeded == nil {
		s.exceeded = map[agreedIntent]excess{}
	}
	beyond := s.exceeded[agreedIntent{digest, uid}]
	switch {
	case other, !beyond.most.IsZero() && beyond.most.Currency != charged.Currency:
		beyond.other = charged
	case charged.Nano > beyond.most.Nano:
		beyond.most = charged
	}
	s.exceeded[agreedIntent{digest, uid}] = beyond
}

// limited reports whether there is a budget in a currency.
func (b *Bridge) limited(currency string) bool {
	return slices.ContainsFunc(b.o.Budget.Limits(), func(l budget.Limit) bool { return l.Currency == currency })
}
