package service

import (
	"cmp"
	"html/template"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents"
)

// An Announcement is a door's part of what a service publishes about itself.
type Announcement struct {
	// Members are members of agents.json. One with an empty value is left out.
	Members []intents.Extra
	// EntryPoints are the URLs at which programs find the door.
	EntryPoints []EntryPoint
	// Note is a paragraph for the developers of agents. Empty: none.
	Note template.HTML
	// IssueURLs are further URLs that issue PATs and that agreements may name.
	IssueURLs []string
	// Consent is set by the door that clients without a key use. nil: another door.
	Consent *Consent
}

// An EntryPoint is a URL with a name.
type EntryPoint struct{ Name, URL string }

// A Consent is how people agree for clients without a key.
type Consent struct {
	Resource string        // URL of the endpoint that tokens are for
	Open     bool          // people may agree
	For      time.Duration // how long the client of a consent can get further tokens
}

// An Announcer is the settings of a door that announces itself. It is safe for concurrent use.
type Announcer interface {
	// Announce is also called before the door has prepared the service.
	Announce(d *Definition) Announcement
}

// NoteOf executes the template of a note, which cannot fail with its data.
func NoteOf(t *template.Template, data any) template.HTML {
	var out strings.Builder
	if err := t.Execute(&out, data); err != nil {
		panic(err)
	}
	return template.HTML(out.String()) //nolint:gosec // the template has escaped the data
}

// Announced joins the announcements of the service's doors, in the order of their names.
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

// EntryPoint returns the URL of an entry point; empty: no door announces it.
func (a *Announcement) EntryPoint(name string) string {
	for _, p := range a.EntryPoints {
		if p.Name == name {
			return p.URL
		}
	}
	return ""
}

// Origins are those of the service's own pages: scheme, host and port of PublicURL; if that is loopback, with each of its names. RFC 6454
// 6.2.
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

// KnownAs reports whether a Host, with or without its port, is one that the service is configured for, that of its PublicURL, or this
// machine's own.
func (d *Definition) KnownAs(host string) bool {
	name := HostName(host)
	return isLoopback(name) || name == HostName(d.PublicURL.Host) ||
		slices.ContainsFunc(d.hosts, func(own string) bool { return HostName(own) == name })
}
