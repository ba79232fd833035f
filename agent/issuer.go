package agent

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/discovery"
)

// checkIssuer checks that a service may use the name that it gives as issuer. Otherwise a service that publishes a copy of
// another one's policy could have it signed, and use the agreement there. A host vouches for itself and for names below it,
// and for the domain it belongs to if that domain's records name it; the loopback address and closed networks vouch for any
// name. The error is an *IssuerError.
func (c *Client) checkIssuer(ctx context.Context, s Session, accepted string) error {
	if c.o.AllowInsecure || accepted != "" && accepted == s.Issuer {
		return nil
	}
	issuer, agents := issuerHost(s.Issuer), s.Endpoints.Agents
	hosts := []string{hostOf(s.asked), hostOf(agents)}
	if slices.ContainsFunc(hosts, func(host string) bool { return host != "" && fetch.LoopbackHost(host) }) ||
		c.vouched(ctx, hosts, agents, issuer) {
		return nil
	}
	below := discovery.BelongsTo(hostOf(agents), issuer)
	return &IssuerError{Issuer: clean(s.Issuer), Host: hostOf(agents), Unconfirmed: below}
}

// vouched reports whether one of the hosts speaks for a name, or belongs to it and the records of that name lead to the
// agents.json: to this very file, or to another one at its host, if that too belongs to the name.
func (c *Client) vouched(ctx context.Context, hosts []string, agents, name string) bool {
	if slices.ContainsFunc(hosts, func(host string) bool { return discovery.SpeaksFor(host, name) }) {
		return true
	}
	if c.o.Locate == nil || !slices.ContainsFunc(hosts, func(host string) bool { return discovery.BelongsTo(host, name) }) {
		return false
	}
	located, err := c.o.Locate(ctx, name)
	return err == nil && slices.ContainsFunc(located, func(address string) bool {
		return address == agents || hostOf(address) == hostOf(agents) && discovery.BelongsTo(hostOf(agents), name)
	})
}

// issuerHost returns the domain in an issuer: itself, or the host of a URL.
func issuerHost(issuer string) string {
	if strings.Contains(issuer, "://") {
		return hostOf(issuer)
	}
	u, err := url.Parse("//" + issuer)
	if err != nil || u.User != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}
