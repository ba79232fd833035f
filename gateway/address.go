package gateway

import (
	"net/http"
	"net/netip"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/connlimit"
)

// caller describes the sender of a request. It includes the header fields only if a trusted proxy sent the request.
func (s *Server) caller(r *http.Request, client netip.Addr) service.Caller {
	c := service.Caller{}
	if client.IsValid() {
		c.Address = client.WithZone("")
	}
	if trusts(s.Directory.Current(), r.RemoteAddr) {
		c.Header = r.Header.Values
	}
	return c
}

// client returns the address of the client of a request. A forwarded address counts only from a trusted proxy.
func (s *Server) client(r *http.Request) netip.Addr {
	return connlimit.Client(r, s.Directory.Current().Trusts)
}

// trusts reports whether a connection comes from a trusted proxy.
func trusts(s *service.Snapshot, remote string) bool {
	return len(s.Proxies) > 0 && s.Trusts(connlimit.Peer(remote))
}
