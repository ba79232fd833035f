package agent

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/discovery"
	"github.com/uimgate/uimgate/internal/fetch"
)

// checkIssuer checks that a service may use the name that it gives as issuer. Otherwise a service could publish a copy of another one's
// policy, have it signed, and use the agreement there. A host vouches for itself, for names below it, and for its parent domain if that
// domain's records name it. The loopback address and closed networks vouch for any name. The error is an *IssuerError.
func (c *Client) checkIssuer(ctx context.Context, s Session, accepted string) error {
	if c.o.AllowInsecure || accepted != "" && accepted == s.Issuer {
		return nil
	}
	issuer, agents := issuerHost(s.Issuer), s.Endpoints.Agents
	hosts := []string{hostOf(s.target), hostOf(agents)}
	if slices.ContainsFunc(hosts, func(host string) bool { return host != "" && fetch.LoopbackHost(host) }) ||
		c.vouched(ctx, hosts, agents, issuer) {
		return nil
	}
	below := discovery.BelongsTo(hostOf(agents), issuer)
	return &IssuerError{Issuer: clean(s.Issuer), Host: hostOf(agents), Unconfirmed: below}
}

// vouched reports whether one of the hosts vouches for a name, or belongs to it and the name's DNS records lead to this agents.json or to
// another one at its host that also belongs to the name.
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

// A NamespaceError means that DNS led from a domain to an agents.json that uses a foreign name: its issuer or the namespace of an intent
// is not the domain, is not below it, and is not a parent domain whose own records name the file. Such a file could offer the intents of
// another service.
type NamespaceError struct {
	Domain string // whose DNS records were followed
	Name   string // the domain does not vouch for it
	Host   string // of the agents.json
}

func (e *NamespaceError) Error() string {
	return fmt.Sprintf("the DNS records of %s lead to an agents.json at %s that speaks for %s, which is not its own name: it was not used",
		e.Domain, e.Host, e.Name)
}

// checkNamespaces compares the names of a service found by DNS with its domain. In closed networks any name passes, as in
// checkIssuer.
func (c *Client) checkNamespaces(ctx context.Context, s *Service, domain string) error {
	if c.o.AllowInsecure {
		return nil
	}
	session := s.Session()
	for _, name := range append([]string{session.Issuer}, s.catalog.Namespaces()...) {
		if !c.vouched(ctx, []string{domain}, session.Endpoints.Agents, issuerHost(name)) {
			return &NamespaceError{Domain: domain, Name: clean(name), Host: clean(hostOf(session.Endpoints.Agents))}
		}
	}
	return nil
}
