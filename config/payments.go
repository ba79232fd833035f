package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/payments/x402"
)

// Payments configures how agents pay in.
type Payments struct {
	Minimum money.Amount `yaml:"minimum" doc:"Smallest amount to ask for in one payment, such as 1 USD. The part that a call does not need remains credit. Default: the amount that the call needs."`
	Maximum money.Amount `yaml:"maximum" doc:"Largest amount of one x402 payment, such as 100 USD. It also limits the unused balance of an agent that the operator has not approved. Default: no limit."`
	// TopUpURL may contain the placeholders {agent_id}, {service}, {amount} and {currency}.
	TopUpURL string         `yaml:"top_up_url" doc:"A page where people pay in for an agent, such as https://pay.shop.example/?agent={agent_id}&amount={amount}. The gateway puts it into each refusal for lack of payment, and replaces {agent_id}, {service}, {amount} and {currency}. https, or http on this machine."`
	Contact  string         `yaml:"contact" doc:"Contact for agents and people with questions about payments, such as billing@shop.example. The gateway puts it into each refusal for lack of payment."`
	Webhook  PaymentWebhook `yaml:"webhook" doc:"The events of a hosted checkout, which it posts to /api/credit/webhook of the service: each payment adds to the credit of an agent, and each refund subtracts from it."`
	X402     X402           `yaml:"x402" doc:"Payments of agents by x402, version 2: an agent sends a signed authorization of a payment with a call, or to /api/credit, and a facilitator settles it. The part that a call does not use remains credit."`
}

// X402 accepts x402 payments if it has a Facilitator.
type X402 struct {
	Facilitator *url.URL      `yaml:"facilitator" doc:"The facilitator, such as https://x402.org/facilitator: the base of its /verify, /settle and /supported. https, or http on this machine. Not set: no x402 payments."`
	Auth        Secret        `yaml:"auth" doc:"Token that the gateway sends to the facilitator, as Authorization: Bearer TOKEN."`
	Private     bool          `yaml:"private" doc:"Permit http and an address that is not on the public internet."`
	PayTo       string        `yaml:"pay_to" doc:"The address that receives the payments: 0x and 40 hexadecimal digits."`
	Accepts     []X402Asset   `yaml:"accepts" doc:"The tokens that are accepted, the preferred one first: at most 8."`
	Timeout     time.Duration `yaml:"timeout" default:"20s" min:"1s" max:"2m" doc:"How long the gateway waits for the facilitator to verify a payment. It waits up to the same time again for the facilitator to settle it. If the outcome is still unknown, the gateway asks again in the background."`
}

// An X402Asset is a token.
type X402Asset struct {
	Network  string `yaml:"network" required:"true" example:"eip155:8453" doc:"The chain of the token: eip155 and its number, such as eip155:8453 for Base."`
	Asset    string `yaml:"asset" required:"true" example:"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913" doc:"The address of the contract of the token. The contract must implement EIP-3009, as that of USDC does."`
	Decimals int    `yaml:"decimals" default:"6" min:"0" max:"18" doc:"The number of decimals of the token: with 6, one token has 1,000,000 atomic units."`
	Currency string `yaml:"currency" required:"true" example:"USD" doc:"The currency of the token: one unit of the token pays one unit of this currency. The gateway converts nothing."`
	Name     string `yaml:"name" required:"true" example:"USD Coin" doc:"The name of the token in its EIP-712 domain: USD Coin on eip155:8453, USDC on eip155:84532."`
	Version  string `yaml:"version" default:"2" doc:"The version of that domain."`
}

// A PaymentWebhook accepts events if it has a Secret.
type PaymentWebhook struct {
	Secret    Secret        `yaml:"secret" doc:"Key of the signatures in the UIM-Signature or Stripe-Signature header: at least 16 random characters. Empty: no events are accepted."`
	Tolerance time.Duration `yaml:"tolerance" default:"5m" min:"1s" max:"1h" doc:"The maximum difference between the time of a signature and the time of the gateway."`
}

const maxContact = 200

// placeholder matches the placeholders of top_up_url.
var placeholder = regexp.MustCompile(`\{[a-z_]*\}`)

// Options returns the options of the facilitator.
func (x *X402) Options() x402.FacilitatorOptions {
	return x402.FacilitatorOptions{URL: x.Facilitator, Token: x.Auth.Reveal(), Private: x.Private, Timeout: x.Timeout}
}

// Terms returns the payments that the configuration accepts.
func (x *X402) Terms() x402.Terms {
	t := x402.Terms{PayTo: x.PayTo}
	for _, a := range x.Accepts {
		t.Assets = append(t.Assets, x402.Asset{
			Network: a.Network, Address: a.Asset, Decimals: a.Decimals, Currency: a.Currency, Name: a.Name, Version: a.Version,
		})
	}
	return t
}

// maxAssets is the maximum number of assets. It bounds the header of a refusal, which lists the terms of each.
const maxAssets = 8

// currencyCode matches the codes of currencies.
var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

func (l *loader) checkX402(p *Payments) {
	x := &p.X402
	if x.Facilitator == nil {
		if x.PayTo != "" || len(x.Accepts) > 0 || !x.Auth.IsEmpty() {
			l.Errorf("payments.x402.facilitator", "is required with the other settings of payments.x402: set the URL of the facilitator")
		}
		return
	}
	if err := fetch.New(fetch.Options{AllowInsecure: x.Private}).Check(x.Facilitator, nil); err != nil {
		l.Errorf("payments.x402.facilitator", "%v: for a facilitator inside your network, set private: true", err)
	}
	if !printable(x.Auth.Reveal()) || strings.ContainsRune(x.Auth.Reveal(), ' ') {
		l.Errorf("payments.x402.auth", "cannot be in a header: want a token without spaces, on one line")
	}
	if !x402.Address(x.PayTo) {
		l.Errorf("payments.x402.pay_to", "is not an address: want 0x and 40 hexadecimal digits")
	}
	if n := len(x.Accepts); n == 0 || n > maxAssets {
		l.Errorf("payments.x402.accepts", "has %d tokens: want 1 to %d", n, maxAssets)
	}
	for i, a := range x.Accepts {
		at := fmt.Sprintf("payments.x402.accepts[%d]", i)
		if !x402.Network(a.Network) && !l.Failed(at+".network") {
			l.Errorf(at+".network", "is not a chain such as eip155:8453")
		}
		if !x402.Address(a.Asset) && !l.Failed(at+".asset") {
			l.Errorf(at+".asset", "is not an address: want 0x and 40 hexadecimal digits")
		}
		if !currencyCode.MatchString(a.Currency) && !l.Failed(at+".currency") {
			l.Errorf(at+".currency", "is not a currency code such as USD")
		}
		for name, text := range map[string]string{"name": a.Name, "version": a.Version} {
			if text == "" || len(text) > maxTokenName || strings.ContainsFunc(text, unreadable) {
				if !l.Failed(at + "." + name) {
					l.Errorf(at+"."+name, "must have 1 to %d printable ASCII characters", maxTokenName)
				}
			}
		}
		for j := range i {
			if o := x.Accepts[j]; o.Network == a.Network && strings.EqualFold(o.Asset, a.Asset) {
				l.Errorf(at+".asset", "is the token of payments.x402.accepts[%d] as well", j)
			}
		}
	}
	for i, a := range x.Accepts {
		if p.Maximum.Currency != "" && a.Currency != p.Maximum.Currency && !l.Failed(fmt.Sprintf("payments.x402.accepts[%d].currency", i)) {
			l.Errorf(fmt.Sprintf("payments.x402.accepts[%d].currency", i),
				"is not that of payments.maximum, which would not bound payments in this token: accept tokens of one currency, or set no maximum")
		}
	}
	if p.Minimum.Currency != "" && !slices.ContainsFunc(x.Accepts, func(a X402Asset) bool { return a.Currency == p.Minimum.Currency }) {
		l.Warnf("payments.minimum", "has a currency that no token of payments.x402.accepts has")
	}
}

// maxTokenName is the maximum length of the name of a token, in bytes.
const maxTokenName = 64

func unreadable(r rune) bool { return r < ' ' || r > '~' }

func (l *loader) checkPayments(p *Payments) {
	l.checkX402(p)
	switch {
	case p.Maximum.Currency == "" || p.Minimum.Currency == "":
	case p.Maximum.Currency != p.Minimum.Currency || p.Maximum.Nano < p.Minimum.Nano:
		l.Errorf("payments.maximum", "must be at least payments.minimum, and in the same currency")
	}
	l.checkHook("payments.webhook", nil, p.Webhook.Secret, false)
	if len(p.Contact) > maxContact {
		l.Errorf("payments.contact", "must have at most %d bytes", maxContact)
	}
	if p.TopUpURL == "" {
		return
	}
	for _, name := range placeholder.FindAllString(p.TopUpURL, -1) {
		switch name {
		case "{agent_id}", "{service}", "{amount}", "{currency}":
		default:
			l.Errorf("payments.top_up_url", "%s is not a placeholder: use {agent_id}, {service}, {amount} or {currency}", name)
			return
		}
	}
	u, err := url.Parse(placeholder.ReplaceAllString(p.TopUpURL, "x"))
	switch {
	case err != nil, u.Host == "", u.User != nil, strings.ContainsAny(u.String(), "{}"), strings.ContainsFunc(p.TopUpURL, unprintable):
		l.Errorf("payments.top_up_url", "is not a URL such as https://pay.shop.example/?agent={agent_id}")
	case placeholder.MatchString(origin(p.TopUpURL)):
		l.Errorf("payments.top_up_url", "has a placeholder in its host: use placeholders only in its path and query")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		l.Errorf("payments.top_up_url", "must be https, or http on this machine")
	}
}

// origin returns the scheme and the host of a URL that may have placeholders.
func origin(u string) string {
	scheme, rest, _ := strings.Cut(u, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return scheme + "://" + rest
}

func unprintable(r rune) bool { return r <= ' ' || r > '~' }
