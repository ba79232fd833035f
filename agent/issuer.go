package agent

import (
	"net/url"
	"strings"

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/discovery"
)

// checkIssuer checks that a service may use the name that it gives as issuer. Otherwise a service that publishes a copy of
// another one's policy could have it signed, and use the agreement there. A host vouches for itself, for names below it
// and for the domain it belongs to; the loopback address and closed networks vouch for any name. The error is an
// *IssuerError.
func (c *Client) checkIssuer(s Session, accepted string) error {
	if c.o.AllowInsecure || accepted != "" && accepted == s.Issuer {
		return nil
	}
	issuer := issuerHost(s.Issuer)
	for _, host := range []string{hostOf(s.asked), hostOf(s.Endpoints.Agents)} {
		if host != "" && (fetch.LoopbackHost(host) || discovery.SpeaksFor(host, issuer)) {
			return nil
		}
	}
	return &IssuerError{Issuer: clean(s.Issuer), Host: hostOf(s.Endpoints.Agents)}
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
