package relayhost

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clients tells where requests come from, behind these proxies.
type clients []netip.Prefix

func (c clients) trusts(a netip.Addr) bool {
	for _, p := range c {
		if p.Contains(a.Unmap()) {
			return true
		}
	}
	return false
}

// of is the address of the client, or of IPv6 its network of 64 bits. X-Forwarded-For counts as far as proxies that are trusted wrote it.
func (c clients) of(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	a := at.Addr().Unmap().WithZone("")
	if c.trusts(a) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, text := range slices.Backward(hops) {
			hop, err := netip.ParseAddr(strings.TrimSpace(text))
			if err != nil {
				break
			}
			if a = hop.Unmap().WithZone(""); !c.trusts(a) {
				break
			}
		}
	}
	if a.Is4() {
		return a.String()
	}
	return netip.PrefixFrom(a, 64).Masked().String()
}
