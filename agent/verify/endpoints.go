package verify

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/fetch"
)

// firstReachable returns the first of several addresses that responds to a POST of the body, and its response. The finding passes, or is
// the reason why none of them responds.
func (v *verification) firstReachable(ctx context.Context, addresses []string, body string) (string, fetch.Answer, finding) {
	if v.service == nil {
		return "", fetch.Answer{}, skipped("agents cannot use this agents.json: %v", v.findErr)
	}
	last := missing("agents.json has no address for this")
	for _, address := range addresses {
		a, err := v.ask(ctx, http.MethodPost, address, jsonBody, body)
		switch {
		case err != nil:
			last = point.Failed(err)
		case pathMissing(a.Status):
			last = missing("%s responds with %d", printable(a.URL.Path), a.Status)
		default:
			return address, a, pass
		}
	}
	return "", fetch.Answer{}, last
}

// findExecute returns the address for calls. To find the address, it first makes a call to an unknown intent without a PAT, and keeps the
// response in v.withoutPAT.
func (v *verification) findExecute(ctx context.Context) (string, finding) {
	if v.executeURL != "" {
		return v.executeURL, pass
	}
	var list []string
	if v.service != nil {
		list = v.service.Endpoints().Execute
	}
	body, err := v.body(v.unknownUID(), map[string]any{})
	if err != nil {
		return "", point.Failed(err)
	}
	address, a, f := v.firstReachable(ctx, list, body)
	v.executeURL, v.withoutPAT = address, a
	return address, f
}

// findIssue returns the address for agreements. To find the address, it first sends a body that is not JSON, so that no agreement is made,
// and keeps the response in v.malformed.
func (v *verification) findIssue(ctx context.Context) (string, finding) {
	if v.issueURL != "" {
		return v.issueURL, pass
	}
	var list []string
	if v.service != nil {
		list = v.service.Endpoints().Issue
	}
	address, a, f := v.firstReachable(ctx, list, `{"agent_id":`)
	v.issueURL, v.malformed = address, a
	return address, f
}

// address parses an absolute URL; ok is false if an agent would not use it.
func (v *verification) address(s string) (*url.URL, bool) {
	u, err := url.Parse(s)
	return u, err == nil && v.secure(u)
}

// sameSite reports whether two hosts belong to the same site: they are equal, have the same registrable domain, or are both loopback
// addresses. If insecure connections are allowed, all hosts belong to the same site.
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

// secure reports whether agents would use a URL: it is https, or it is http to a loopback address or with insecure connections allowed.
func (v *verification) secure(u *url.URL) bool {
	return u.Hostname() != "" && u.User == nil &&
		(u.Scheme == "https" || u.Scheme == "http" && (v.options.Client.AllowInsecure || fetch.LoopbackHost(u.Hostname())))
}

// ownURL checks a URL of the service: it must be one that agents would use, at the site of agents.json.
func (v *verification) ownURL(name, s string) finding {
	u, ok := v.address(s)
	if !ok {
		return wrong("%s is not a URL that an agent would use", name)
	}
	if !v.sameSite(u.Hostname(), v.agentsURL().Hostname()) {
		return wrong("%s is at %s, but agents.json is at %s", name, u.Hostname(), v.agentsURL().Hostname())
	}
	return pass
}
