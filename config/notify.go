package config

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Webhook is a URL of the operator to which the gateway posts notices.
type Webhook struct {
	URL     *url.URL `yaml:"url" required:"true" example:"https://ops.shop.example/uimgate" doc:"Where to post. https, or http on this machine."`
	Secret  Secret   `yaml:"secret" required:"true" example:"${NOTIFY_SECRET}" doc:"Key of the signature in the UIM-Signature header: at least 16 random characters."`
	Events  []Event  `yaml:"events" max:"11" doc:"Which notices to post: agent.waiting, credit.low, charge.unresolved, breaker.open, tool.changed, certificate.expiring, ledger.mismatch, audit.failing, reload.refused, limit.near, limit.reached. Default: all."`
	Private bool     `yaml:"private" default:"false" doc:"Permit http and an address that is not on the public internet."`
}

// An Event is the kind of event that a notice reports.
type Event string

// The events.
const (
	AgentWaiting        Event = "agent.waiting"        // an agent has agreed and waits for approval
	CreditLow           Event = "credit.low"           // an agent has less left to spend than Billing.Low
	ChargeUnresolved    Event = "charge.unresolved"    // a charge belongs to a call of unknown outcome
	BreakerOpen         Event = "breaker.open"         // calls to an intent are stopped after failures of the upstream
	ToolChanged         Event = "tool.changed"         // an intent no longer matches its tool of an MCP server
	CertificateExpiring Event = "certificate.expiring" // a certificate expires soon, or is missing
	LedgerMismatch      Event = "ledger.mismatch"      // the balances of the accounts are not the sums of the ledger
	AuditFailing        Event = "audit.failing"        // audit records cannot be written
	ReloadRefused       Event = "reload.refused"       // a changed configuration was refused
	LimitNear           Event = "limit.near"           // an agent has used 80 % of a limit of a day or longer, or of a budget
	LimitReached        Event = "limit.reached"        // an agent has used such a limit or budget completely
)

var events = []Event{
	AgentWaiting, CreditLow, ChargeUnresolved, BreakerOpen, ToolChanged, CertificateExpiring, LedgerMismatch, AuditFailing, ReloadRefused,
	LimitNear, LimitReached,
}

// Wants reports whether the webhook gets the notices of an event.
func (w *Webhook) Wants(e Event) bool { return len(w.Events) == 0 || slices.Contains(w.Events, e) }

func parseEvent(text string) (any, error) {
	if !slices.Contains(events, Event(text)) {
		return nil, errScalar
	}
	return Event(text), nil
}

// joinEvents returns the names of all events, with separator between them.
func joinEvents(separator string) string {
	var names []string
	for _, e := range events {
		names = append(names, string(e))
	}
	return strings.Join(names, separator)
}

func (l *loader) checkNotify(c *Config) {
	for i := range c.Notify {
		w, at := &c.Notify[i], "notify["+strconv.Itoa(i)+"]"
		l.checkHook(at, w.URL, w.Secret, w.Private)
		if c.Billing.Low.Currency == "" && slices.Contains(w.Events, CreditLow) {
			l.Warnf(at+".events", "credit.low has no effect: set billing.low")
		}
	}
}
