// Package payments defines how agents pay in: the demand in the refusal of a call that an agent cannot pay for, and the events that report
// payments.
package payments

import (
	"net/url"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/payments/x402"
	"github.com/uimgate/uimgate/store"
)

// An Offer describes how agents pay in at a service. The zero Offer offers no way to pay.
type Offer struct {
	Minimum  money.Amount // the smallest amount to ask for; without a currency, the missing amount
	Maximum  money.Amount // the largest amount of one x402 payment; without a currency, the amount is not bounded
	TopUpURL string       // a page where people pay in, with placeholders; empty: none
	Contact  string       // the contact for payments; empty: unknown
	Webhook  *Webhook     // reports payments of a hosted checkout; nil: none
	X402     *X402        // nil: no x402 payments
}

// An X402 is how a service takes x402 payments.
type X402 struct {
	Terms       x402.Terms
	Facilitator *x402.Facilitator
}

// Takes reports whether agents can pay in by x402 in a currency.
func (o *Offer) Takes(currency string) bool { return o.X402 != nil && o.X402.Terms.In(currency) }

// Page returns the address where people pay in a given amount for an agent, or "" if there is none.
func (o Offer) Page(service, agentID string, amount money.Amount) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	return strings.NewReplacer(
		"{agent_id}", escape(agentID), "{service}", escape(service), "{amount}", amount.Decimal(), "{currency}", amount.Currency,
	).Replace(o.TopUpURL)
}

// Ask returns the amount to ask for if shortfall is missing: at least Minimum if that has the same currency, rounded up to the minor unit
// of the currency.
func (o Offer) Ask(shortfall money.Amount) money.Amount {
	if o.Minimum.Currency == shortfall.Currency {
		shortfall.Nano = max(shortfall.Nano, o.Minimum.Nano)
	}
	return shortfall.RoundUp()
}

// A Demand describes the payment that an agent needs to make for a call that it cannot pay for. Amounts are decimal numbers in Currency.
type Demand struct {
	Currency  string
	Price     string // the price of the call
	Balance   string // paid in and not used; negative if the agent owes
	Owed      string // the debt of the agent; 0 if it does not owe anything
	Limit     string // the maximum that the agent can owe
	Shortfall string // the smallest payment that pays for the call
	Minimum   string // the least amount to pay
	TopUpURL  string // empty: there is no page
	CreditURL string // where the agent pays by x402 without a call; empty: nowhere
	Contact   string // empty: unknown
}

// Members returns the demand as the member payment of the details of a refusal.
func (d *Demand) Members() map[string]any {
	out := map[string]any{
		"currency": d.Currency, "price": d.Price, "balance": d.Balance, "owed": d.Owed, "limit": d.Limit, "shortfall": d.Shortfall,
		"minimum": d.Minimum,
	}
	for name, text := range map[string]string{
		"top_up_url": d.TopUpURL, "credit_url": d.CreditURL, "contact": d.Contact,
	} {
		if text != "" {
			out[name] = text
		}
	}
	return out
}

// Demand returns the demand for a call of an agent that was refused with short.
func (o Offer) Demand(service, agentID string, short *store.CreditError) Demand {
	balance, missing := short.Balance(), short.Shortfall()
	ask := o.Ask(missing)
	return Demand{
		Currency: short.Charge.Currency, Price: short.Charge.Decimal(), Balance: balance.Decimal(),
		Owed: money.Amount{Nano: max(0, -balance.Nano)}.Decimal(), Limit: short.Limit.Decimal(), Shortfall: missing.Decimal(),
		Minimum: ask.Decimal(), TopUpURL: o.Page(service, agentID, ask), Contact: o.Contact,
	}
}

// Advice returns sentences that explain to a person or a model how to pay. It is empty if the offer offers no way to pay.
func (d *Demand) Advice() string {
	var ways []string
	if d.TopUpURL != "" {
		ways = append(ways, "Pay at least "+d.Minimum+" "+d.Currency+" at "+d.TopUpURL+", and repeat the call.")
	}
	if d.CreditURL != "" {
		ways = append(ways, "Or pay by x402: sign one of the terms in PAYMENT-REQUIRED, and repeat the call with PAYMENT-SIGNATURE.")
	}
	if d.Contact != "" {
		ways = append(ways, "Contact for payments: "+d.Contact+".")
	}
	return strings.Join(ways, " ")
}
