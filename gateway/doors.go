package gateway

import (
	"net"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
)

// enter has a door answer where the path is one of its paths.
func (s *Server) enter(c echo.Context, x *exchange) (entered bool) {
	r := c.Request()
	for _, d := range s.doors {
		route := d.Route(x.service.Definition, r.URL.Path)
		if route == "" {
			continue
		}
		c.SetPath(route)
		v := &door.Visit{
			Service: x.service, Serving: func() *service.Service { return s.serviceFor(r) }, RequestID: x.requestID,
			Caller: s.caller(r, x.client), Address: x.address, Local: local(r),
		}
		defer func() { x.Outcome = v.Outcome }()
		d.Serve(c.Response(), r, v)
		return true
	}
	return false
}

// local reports whether a request came to an address of this machine alone.
func local(r *http.Request) bool {
	bound, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return bound != nil && wire.Peer(bound.String()).IsLoopback()
}
