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
		c.Address = client.WithZone("").String()
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
	if trusted(snapshot, address) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(hops) {
			hop, err := netip.ParseAddr(strings.TrimSpace(hop))
			if err != nil {
				break
			}
			address = hop.Unmap()
			if !trusted(snapshot, address) {
				break
			}
		}
	}
	return address
}

// trusted reports whether an address is one of a trusted proxy.
func trusted(s *service.Snapshot, address netip.Addr) bool {
	for _, p := range s.Proxies {
		if p.Contains(address) {
			return true
		}
	}
	return false
}

// trusts reports whether a connection comes from a trusted proxy.
func trusts(s *service.Snapshot, remote string) bool {
	return len(s.Proxies) > 0 && trusted(s, wire.Peer(remote))
}
