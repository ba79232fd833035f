package config

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/money"
)

// Payments configures how agents pay in.
type Payments struct {
	Minimum money.Amount `yaml:"minimum" doc:"Least amount to ask for in one payment, such as 1 USD. What a call does not need remains credit. Default: what the call needs."`
	// TopUpURL may have the placeholders {agent_id}, {service}, {amount} and {currency}.
	TopUpURL string         `yaml:"top_up_url" doc:"A page where people pay in for an agent, such as https://pay.shop.example/?agent={agent_id}&amount={amount}. The gateway puts it into each refusal for lack of payment, and replaces {agent_id}, {service}, {amount} and {currency}. https, or http on this machine."`
	Contact  string         `yaml:"contact" doc:"Whom agents and people may ask about payments, such as billing@shop.example. The gateway puts it into each refusal for lack of payment."`
	Webhook  PaymentWebhook `yaml:"webhook" doc:"The events of a hosted checkout, which it posts to /api/credit/webhook of the service: each tops up the credit of an agent."`
}

// A PaymentWebhook accepts events if it has a Secret.
type PaymentWebhook struct {
	Secret    Secret        `yaml:"secret" doc:"Key of the signatures in the header UIM-Signature or Stripe-Signature: at least 16 random characters. Empty: no events are accepted."`
	Tolerance time.Duration `yaml:"tolerance" default:"5m" min:"1s" max:"1h" doc:"How far the time of a signature may be from the time of the gateway."`
}

const maxContact = 200

// placeholder matches the placeholders of top_up_url.
var placeholder = regexp.MustCompile(`\{[a-z_]*\}`)

func (l *loader) checkPayments(p *Payments) {
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
