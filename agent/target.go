package agent

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"github.com/uimgate/uimgate/internal/fetch"
)

// A target is the service that the caller names: the addresses at which its agents.json may be.
type target struct {
	domain string   // empty if the caller gave more than a domain; DNS is then not queried
	urls   []string // in the order in which they are tried
}

const maxTarget = 2048

// parseTarget parses the URL of an agents.json, an origin (or the base path of a service), or a domain with or without port. Without a
// scheme, a loopback address means http, and any other host means https. The error wraps ErrTarget.
func parseTarget(s string) (target, error) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxTarget || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return target{}, ErrTarget
	}
	noScheme := !strings.Contains(s, "://")
	if noScheme {
		s = "https://" + bracketed(s)
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return target{}, ErrTarget
	}
	if u.User != nil {
		return target{}, fmt.Errorf("%w, without a user name or password", ErrTarget)
	}
	ascii, err := idna.Lookup.ToASCII(u.Hostname())
	if _, notName := netip.ParseAddr(u.Hostname()); notName != nil && err == nil {
		u.Host = strings.Replace(u.Host, u.Hostname(), ascii, 1)
	}
	loopback := fetch.LoopbackHost(u.Hostname())
	if noScheme && loopback {
		u.Scheme = "http"
	}
	if strings.HasSuffix(u.Path, ".json") {
		return target{urls: []string{u.String()}}, nil
	}
	if u.RawQuery != "" {
		return target{}, fmt.Errorf("%w: an origin must not have a query", ErrTarget)
	}
	t := target{urls: []string{u.JoinPath("agents.json").String(), u.JoinPath(".well-known", "agents.json").String()}}
	if _, err := netip.ParseAddr(u.Hostname()); noScheme && !loopback && err != nil && u.Port() == "" && strings.Trim(u.Path, "/") == "" {
		t.domain = strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	}
	return t, nil
}

// bracketed puts an IPv6 address in brackets.
func bracketed(s string) string {
	if ip := net.ParseIP(s); ip != nil && strings.Contains(s, ":") {
		return "[" + s + "]"
	}
	return s
}
