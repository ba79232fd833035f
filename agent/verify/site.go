package verify

import (
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/uimgate/uimgate/agent/fetch"
)

// address parses an absolute URL; ok is false if an agent would not use it.
func (v *verification) address(s string) (*url.URL, bool) {
	u, err := url.Parse(s)
	return u, err == nil && v.secure(u)
}

// sameSite reports whether two hosts belong together: one name, or one registrable domain. Loopback
// addresses and, where closed networks are allowed, all others vouch for each other.
func (v *verification) sameSite(a, b string) bool {
	a, b = strings.ToLower(strings.TrimSuffix(a, ".")), strings.ToLower(strings.TrimSuffix(b, "."))
	if a == b || v.options.Client.AllowInsecure || fetch.LoopbackHost(a) && fetch.LoopbackHost(b) {
		return true
	}
	if net.ParseIP(a) != nil || net.ParseIP(b) != nil {
		return false
	}
	one, errOne := publicsuffix.EffectiveTLDPlusOne(a)
	other, errOther := publicsuffix.EffectiveTLDPlusOne(b)
	return errOne == nil && errOther == nil && one == other
}

// secure reports whether a URL is one that agents use: https, or http to the loopback address or where
// that is allowed.
func (v *verification) secure(u *url.URL) bool {
	return u.Hostname() != "" && u.User == nil &&
		(u.Scheme == "https" || u.Scheme == "http" && (v.options.Client.AllowInsecure || fetch.LoopbackHost(u.Hostname())))
}

// ownURL checks a URL of the service itself: https, and at the site of agents.json.
func (v *verification) ownURL(name, s string) finding {
	u, ok := v.address(s)
	if !ok {
		return wrong("%s is no URL that an agent would ask", name)
	}
	if !v.sameSite(u.Hostname(), v.agentsURL().Hostname()) {
		return wrong("%s is at %s, agents.json at %s", name, u.Hostname(), v.agentsURL().Hostname())
	}
	return pass
}
