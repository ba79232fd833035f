package relayhost

import (
	"net/http"
	"net/netip"

	"github.com/uimgate/uimgate/internal/connlimit"
)

// clients returns the addresses of clients behind these proxies.
type clients []netip.Prefix

func (c clients) trusts(a netip.Addr) bool {
	for _, p := range c {
		if p.Contains(a.Unmap()) {
			return true
		}
	}
	return false
}

// of returns the name that the client of a request is counted under.
func (c clients) of(r *http.Request) string {
	return connlimit.CountedAs(connlimit.Client(r, c.trusts))
}
