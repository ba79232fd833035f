package service

import (
	"cmp"
	"context"
	"html/template"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

// An Announcement holds the entries that a door adds to the documents that a service publishes about itself.
type Announcement struct {
	// Members are members of agents.json. Those with an empty value are omitted.
	Members []intents.Extra
	// EntryPoints are the URLs of the door for programs.
	EntryPoints []EntryPoint
	// Note is a paragraph for developers of agents; it may be empty.
	Note template.HTML
	// IssueURLs are additional URLs that issue PATs and that agreements may name as htu.
	IssueURLs []string
	// Consent is set only by the door for clients without a key.
	Consent *Consent
}

// An EntryPoint is a named URL of a door.
type EntryPoint struct{ Name, URL string }

// A Consent describes how people agree for clients without a key.
type Consent struct {
	Resource string        // URL of the endpoint that tokens are for
	Open     bool          // whether people may agree
	For      time.Duration // how long a client can obtain tokens after the consent
	Budget   *BudgetOffer  // what people may permit clients to spend; nil: nothing
}

// A BudgetOffer bounds the budgets that people give to clients. All amounts have one currency.
type BudgetOffer struct {
	Max          limit.Allowance
	PerCall      money.Amount // the maximum of PerCall in a budget
	ConfirmAbove money.Amount // a call that costs more needs a confirmation, even within the budget
}

// ConsentsPath is the path of the page on which people see and end the consents that they gave to the service.
const ConsentsPath = "/oauth/consents"

// BudgetOffer returns the bounds of the budgets that people may give to clients at the service; nil: people may give none.
func (d *Definition) BudgetOffer() *BudgetOffer {
	if consent := d.Announced().Consent; consent != nil && consent.Open {
		return consent.Budget
	}
	return nil
}

// An Announcer is implemented by the settings of a door that contributes an Announcement. It is safe for concurrent use.
type Announcer interface {
	// Announce returns the announcement for a service. It may be called before the door has prepared the service.
	Announce(d *Definition) Announcement
}

// A TermsChecker is implemented by the settings of a door that depend on the intents and the policy of their service.
type TermsChecker interface {
	// CheckTerms reports, with fail, the settings that the intents or the policy of d do not permit. key is relative to the block of the door,
	// such as models[0].intent. CheckTerms is called before the door has prepared the service, for each version of the policy.
	CheckTerms(ctx context.Context, d *Definition, fail func(key, format string, args ...any))
}

// NoteOf returns the note that a template produces. It panics if the execution of the template fails.
func NoteOf(t *template.Template, data any) template.HTML {
	var out strings.Builder
	if err := t.Execute(&out, data); err != nil {
		panic(err)
	}
	return template.HTML(out.String()) //nolint:gosec // the template has escaped the data
}

// Announced combines the announcements of the service's doors, in the order of the names of the doors.
func (d *Definition) Announced() (all Announcement) {
	for _, name := range slices.Sorted(maps.Keys(d.Doors)) {
		announcer, ok := d.Doors[name].(Announcer)
		if !ok {
			continue
		}
		a := announcer.Announce(d)
		all.Members = append(all.Members, a.Members...)
		all.EntryPoints = append(all.EntryPoints, a.EntryPoints...)
		all.Note += a.Note
		all.IssueURLs = append(all.IssueURLs, a.IssueURLs...)
		all.Consent = cmp.Or(all.Consent, a.Consent)
	}
	return all
}

// EntryPoint returns the URL of the entry point with this name, or "" if no door announces it.
func (a Announcement) EntryPoint(name string) string {
	for _, p := range a.EntryPoints {
		if p.Name == name {
			return p.URL
		}
	}
	return ""
}

// Origins returns the origins of the service's own pages (RFC 6454 6.2): scheme, host and port of PublicURL. If that host is a loopback
// host, Origins adds an origin for each of the loopback names.
func (d *Definition) Origins() []string {
	scheme, host := strings.ToLower(d.PublicURL.Scheme)+"://", strings.ToLower(d.PublicURL.Host)
	list := []string{scheme + host}
	if isLoopback(HostName(host)) {
		port := ""
		if p := d.PublicURL.Port(); p != "" {
			port = ":" + p
		}
		for _, name := range loopbackNames {
			list = append(list, scheme+name+port)
		}
	}
	return list
}

var loopbackNames = []string{"localhost", "127.0.0.1", "[::1]"}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// KnownAs reports whether a Host header names a configured host of the service, the host of its PublicURL, or a loopback host. It ignores
// the port.
func (d *Definition) KnownAs(host string) bool {
	name := HostName(host)
	return isLoopback(name) || name == HostName(d.PublicURL.Host) ||
		slices.ContainsFunc(d.hosts, func(own string) bool { return HostName(own) == name })
}
