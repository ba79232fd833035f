package agent

import (
	"context"
	"fmt"
)

// A NamespaceError means that DNS led from a domain to an agents.json that uses the name of another one: its issuer or the
// namespace of an intent is neither the domain nor below it, nor a domain above it whose own records name the file. Such a
// file could offer the intents of another service.
type NamespaceError struct {
	Domain string // whose DNS records were followed
	Name   string // that the domain does not vouch for
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
