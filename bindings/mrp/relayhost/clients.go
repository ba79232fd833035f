package relayhost

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/uimgate/uimgate/internal/connlimit"
)

// clients holds the networks of trusted proxies, and identifies the clients behind these proxies.
type clients []netip.Prefix

func (c clients) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(c, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
}

// of returns the address or network of the client of a request. Limits count requests under this name.
func (c clients) of(r *http.Request) string {
	return connlimit.CountedAs(connlimit.Client(r, c.trusts))
}
