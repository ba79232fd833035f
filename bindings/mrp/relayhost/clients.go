package relayhost

import (
	"net/http"
	"net/netip"

	"github.com/uimgate/uimgate/internal/connlimit"
)

// clients holds the networks of trusted proxies, and identifies the clients behind these proxies.
type clients []netip.Prefix

func (c clients) trusts(a netip.Addr) bool {
	for _, p := range c {
		if p.Contains(a.Unmap()) {
			return true
		}
	}
	return false
}

// of returns the address or network of the client of a request. Limits count requests under this name.
func (c clients) of(r *http.Request) string {
	return connlimit.CountedAs(connlimit.Client(r, c.trusts))
}
