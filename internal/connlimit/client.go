package connlimit

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Peer returns the address of the peer of a connection; the zero address if it cannot be read.
func Peer(remote string) netip.Addr {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap()
}

// Client returns the address of a request's client. X-Forwarded-For counts only from trusted proxies, and then only up to the last
// address that is not itself a trusted proxy.
func Client(r *http.Request, trusts func(netip.Addr) bool) netip.Addr {
	address := Peer(r.RemoteAddr)
	if !trusts(address) {
		return address
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		forwarded, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			break
		}
		address = forwarded
		if !trusts(address) {
			break
		}
	}
	return address
}

// parseHop parses an address as proxies write it: alone, in brackets, or with a port.
func parseHop(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap(), true
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if len(text)-len(bare) == 1 { // only one bracket
		return netip.Addr{}, false
	}
	address, err := netip.ParseAddr(bare)
	return address.Unmap(), err == nil
}

// CountedAs returns the address that a client is counted under: IPv6 counts by /64, because one customer has that.
func CountedAs(address netip.Addr) string {
	if address.Is6() {
		if prefix, err := address.WithZone("").Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return address.String()
}
