package connlimit

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Peer returns the address in remote, the host:port of the peer of a connection. It returns the zero Addr if remote is not valid.
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

// Client returns the address of a request's client: the peer or, if the peer is a trusted proxy, the last address in X-Forwarded-For that
// is not a trusted proxy (the first one if all are). An entry that cannot be parsed ends the search: the result is then the address after
// it.
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

// parseHop parses an address in one of the forms that proxies write: bare, in brackets, or with a port.
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

// CountedAs returns the key for counting a client: an IPv6 address counts by its /64, because one customer has at least a /64.
func CountedAs(address netip.Addr) string {
	if address.Is6() {
		if prefix, err := address.WithZone("").Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return address.String()
}
