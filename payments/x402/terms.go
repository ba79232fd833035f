// Package x402 implements x402 payments, version 2: the messages, and the HTTP interface of the facilitator, which verifies payments and
// settles them. It supports the scheme exact with authorizations of EIP-3009 on networks eip155. It holds no keys, and connects to no
// chain.
//
//	terms := x402.Terms{PayTo: "0x…", Assets: []x402.Asset{…}}
//	header := x402.Quote{…, Accepts: terms.Requirements(amount)}.Header()
//	payload, err := x402.ReadHeader(r.Header.Get(x402.HeaderSignature))
//	order, err := terms.Match(payload, amount, now)
//	settlement := facilitator.Settle(ctx, order.Body, false)
//
// The source is specs/x402-specification-v2.md, specs/transports-v2 and specs/schemes/exact/scheme_exact_evm.md of the repository
// x402-foundation/x402.
package x402

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// Version is the version of the protocol.
const Version = 2

// SchemeExact is the scheme in which the payer signs the exact amount.
const SchemeExact = "exact"

// Terms are the ways in which a service accepts payments.
type Terms struct {
	PayTo  string // address that receives payments
	Assets []Asset
}

// An Asset is a token in which a service accepts payments.
type Asset struct {
	Network  string // CAIP-2, such as eip155:8453
	Address  string // of the contract of the token
	Decimals int    // how many decimal places of the currency one atomic unit of the token has
	Currency string // the currency that the operator equates with the token
	Name     string // of the token in its EIP-712 domain
	Version  string // of that domain
}

// MaxTimeout is how long an authorization that a payer makes for the terms is valid.
const MaxTimeout = 5 * time.Minute

// latest is the latest time at which an authorization may end. Payers choose the end themselves.
const latest = 24 * time.Hour

// Requirements returns the terms of a payment of at least an amount, one for each asset with the currency of the amount. Amounts are
// rounded up to atomic units. The result is empty if no asset has the currency.
func (t *Terms) Requirements(amount money.Amount) []Requirements {
	var list []Requirements
	for _, a := range t.Assets {
		if a.Currency == amount.Currency {
			list = append(list, t.requirements(a, a.atomic(amount).String()))
		}
	}
	return list
}

func (t *Terms) requirements(a Asset, amount string) Requirements {
	return Requirements{
		Scheme: SchemeExact, Network: a.Network, Amount: amount, Asset: a.Address, PayTo: t.PayTo,
		MaxTimeoutSeconds: int(MaxTimeout / time.Second), Extra: Extra{Name: a.Name, Version: a.Version},
	}
}

// A MismatchError means that a payment does not meet the terms that are offered.
type MismatchError struct {
	Member  string // of the payment, such as accepted.amount
	Problem string
}

func (e *MismatchError) Error() string { return e.Member + " " + e.Problem }

// An Order is a payment that meets the terms.
type Order struct {
	Amount  money.Amount // rounded down to billionths of the currency
	Network string
	Payer   string
	Atomic  string    // the amount in atomic units
	Until   time.Time // when the authorization ends
	Body    []byte    // the document that is posted to the facilitator, to verify and to settle the payment
}

// asset returns the asset of a payment, if the terms name it.
func (t *Terms) asset(r Requirements) (Asset, bool) {
	for _, a := range t.Assets {
		if a.Network == r.Network && strings.EqualFold(a.Address, r.Asset) {
			return a, true
		}
	}
	return Asset{}, false
}

// In reports whether an asset has a currency.
func (t *Terms) In(currency string) bool {
	return slices.ContainsFunc(t.Assets, func(a Asset) bool { return a.Currency == currency })
}

// Takes reports whether a payment is in a token that the terms equate with a currency.
func (t *Terms) Takes(p *Payload, currency string) bool {
	a, known := t.asset(p.Accepted)
	return known && a.Currency == currency
}

// OrderOf returns the order whose Body is given, without its Amount. The error is a *FormError.
func OrderOf(body []byte) (Order, error) {
	tree, err := strictjson.DecodeObject(body)
	if err != nil {
		return Order{}, &FormError{"", "is not a JSON object"}
	}
	p, err := read(tree.Object("paymentPayload"))
	if err != nil {
		return Order{}, err
	}
	return Order{Network: p.Accepted.Network, Payer: p.From, Atomic: p.Accepted.Amount, Until: p.ValidBefore, Body: body}, nil
}

// Match checks that a payment meets the terms: that it is of at least an amount, and in the currency of the amount. If the amount has no
// currency, the payment may be of any amount. The error is a *MismatchError, and nothing was sent.
func (t *Terms) Match(p *Payload, least money.Amount, now time.Time) (Order, error) {
	asset, known := t.asset(p.Accepted)
	switch {
	case p.Accepted.Scheme != SchemeExact:
		return Order{}, &MismatchError{"accepted.scheme", "must be " + SchemeExact}
	case !known:
		return Order{}, &MismatchError{"accepted.asset", "is not accepted on that network"}
	case least.Currency != "" && asset.Currency != least.Currency:
		return Order{}, &MismatchError{"accepted.asset", "is not in " + least.Currency}
	case !strings.EqualFold(p.Accepted.PayTo, t.PayTo):
		return Order{}, &MismatchError{"accepted.payTo", "is not the address of the service"}
	case !strings.EqualFold(p.To, t.PayTo):
		return Order{}, &MismatchError{"payload.authorization.to", "is not the address of the service"}
	case p.Value.String() != p.Accepted.Amount:
		return Order{}, &MismatchError{"payload.authorization.value", "differs from accepted.amount"}
	case !p.ValidBefore.After(now):
		return Order{}, &MismatchError{"payload.authorization.validBefore", "is in the past"}
	case p.ValidBefore.Sub(now) > latest:
		return Order{}, &MismatchError{"payload.authorization.validBefore", fmt.Sprintf("is more than %s away", latest)}
	}
	amount, ok := asset.amount(p.Value)
	switch {
	case !ok:
		return Order{}, &MismatchError{"accepted.amount", fmt.Sprintf("is above %d %s", money.MaxUnits, asset.Currency)}
	case amount.Nano == 0:
		return Order{}, &MismatchError{"accepted.amount", "is too small to be credited"}
	case least.Currency != "" && p.Value.Cmp(asset.atomic(least)) < 0:
		return Order{}, &MismatchError{"accepted.amount", "is below " + asset.atomic(least).String() + ", the requested amount"}
	}
	body, err := orderBody(p.document, t.requirements(asset, p.Accepted.Amount))
	if err != nil {
		return Order{}, err
	}
	return Order{
		Amount: amount, Network: asset.Network, Payer: p.From, Atomic: p.Accepted.Amount, Until: p.ValidBefore, Body: body,
	}, nil
}
