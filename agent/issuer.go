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

// checkIssuer checks that a service may use the name that it gives as issuer. Without the check, a service could publish a copy of another
// service's policy, have agents sign it, and use their agreements at the other service. A host vouches for itself, for its subdomains, and
// for its parent domain if the DNS records of that domain name the service. A loopback address may use any name, as may every service if
// AllowInsecure is set. Any service may use the name accepted, if it is not empty. The error is an *IssuerError.
func (c *Client) checkIssuer(ctx context.Context, s Session, accepted string) error {
	if c.o.AllowInsecure || accepted != "" && accepted == s.Issuer {
		return nil
	}
	issuer, agents := issuerHost(s.Issuer), s.Endpoints.Agents
	hosts := []string{hostOf(s.kept.Target), hostOf(agents)}
	if slices.ContainsFunc(hosts, func(host string) bool { return host != "" && fetch.LoopbackHost(host) }) ||
		c.vouched(ctx, hosts, agents, issuer) {
		return nil
	}
	below := discovery.BelongsTo(hostOf(agents), issuer)
	return &IssuerError{Issuer: clean(s.Issuer), Host: hostOf(agents), Unconfirmed: below}
}

// vouched reports whether one of the hosts vouches for a name. A subdomain of the name vouches for the name only if the DNS
// records of the name point to this agents.json, or to another one at the same host. That host must then also be a subdomain of
// the name.
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

// issuerHost returns the host of an issuer that is a domain or a URL, in lowercase. It returns an empty string if the issuer is neither.
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

// A NamespaceError means that the DNS records of a domain point to an agents.json that uses a name for which the domain does not vouch. The
// name is the issuer of the file or the namespace of an intent, and is neither the domain itself, nor a subdomain, nor a parent domain
// whose own records name the file. Such a file could offer the intents of another service.
type NamespaceError struct {
	Domain string // domain whose DNS records were followed
	Name   string // name that the domain does not vouch for
	Host   string // host of the agents.json
}

func (e *NamespaceError) Error() string {
	return fmt.Sprintf(
		"the DNS records of %s point to an agents.json at %s with the name %s, which the domain does not vouch for: it was not used",
		e.Domain, e.Host, e.Name)
}

// checkNamespaces checks that a domain vouches for the names of the service that DNS found for it. As in checkIssuer, any name
// passes if AllowInsecure is set.
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
