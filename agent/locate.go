package agent

import (
	"fmt"

	"github.com/uimgate/uimgate/discovery"
)

// A NamespaceError says that DNS led from a domain to an agents.json that speaks in the name of another:
// its issuer or the namespace of an intent is neither the domain nor below or above it. Whoever has such
// a file read by agents could offer a stranger's intents as his own.
type NamespaceError struct {
	Domain string // whose DNS records were followed
	Name   string // that it does not vouch for
	Host   string // of the agents.json
}

func (e *NamespaceError) Error() string {
	return fmt.Sprintf("the DNS records of %s lead to an agents.json at %s that speaks for %s, which is not its own name: it was not used", e.Domain, e.Host, e.Name)
}

// located holds a service that the DNS records of a domain led to against what the domain can vouch for.
// In closed networks everyone speaks for whom he likes, as in vouched.
func (c *Client) located(s *Service, domain string) error {
	if c.o.AllowInsecure {
		return nil
	}
	session := s.Session()
	for _, name := range append([]string{session.Issuer}, s.catalog.Namespaces()...) {
		if !discovery.SpeaksFor(domain, issuerHost(name)) {
			return &NamespaceError{Domain: domain, Name: clean(name), Host: clean(hostOf(session.Endpoints.Agents))}
		}
	}
	return nil
}
