package gateway

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
)

// countedAs is the address a client is counted under: IPv6 counts by /64, which is what one customer has.
func countedAs(address netip.Addr) string {
	if address.Is6() {
		if prefix, err := address.WithZone("").Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return address.String()
}

// caller describes the sender of a request. Headers count only from trusted proxies.
func (s *Server) caller(r *http.Request, client netip.Addr) service.Caller {
	c := service.Caller{}
	if client.IsValid() {
		c.Address = client.WithZone("")
	}
	if trusts(s.directory.Current(), r.RemoteAddr) {
		c.Header = r.Header.Values
	}
	return c
}

// client is the address a request comes from. X-Forwarded-For counts only from trusted proxies, and then only as
// far as the last address that is not one itself.
func (s *Server) client(r *http.Request) netip.Addr {
	snapshot := s.directory.Current()
	address := wire.Peer(r.RemoteAddr)
	if snapshot.Trusts(address) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(hops) {
			forwarded, ok := parseHop(strings.TrimSpace(hop))
			if !ok {
				break
			}
			address = forwarded
			if !snapshot.Trusts(address) {
				break
			}
		}
	}
	return address
}

// parseHop reads an address as proxies write it: alone, in brackets, or with a port.
func parseHop(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap(), true
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if len(text)-len(bare) == 1 { // one bracket alone
		return netip.Addr{}, false
	}
	address, err := netip.ParseAddr(bare)
	return address.Unmap(), err == nil
}

// trusts reports whether a connection comes from a trusted proxy.
func trusts(s *service.Snapshot, remote string) bool {
	return len(s.Proxies) > 0 && s.Trusts(wire.Peer(remote))
}
