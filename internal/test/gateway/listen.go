package gatetest

import (
	"net"
	"net/http/httptest"
	"net/netip"

	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/reason"
)

// manyConnections is more than any test opens without setting Connections.
const manyConnections = 100_000

// listen serves the public listener like the daemon, until the test ends.
func (g *Gate) listen(perAddress int) {
	g.Helper()
	if g.Connections == 0 {
		g.Connections, perAddress = manyConnections, manyConnections
	}
	ln, err := (&net.ListenConfig{}).Listen(g.Context(), "tcp", "127.0.0.1:0")
	g.Must(err)
	public := httptest.NewUnstartedServer(g.Handler)
	_ = public.Listener.Close()
	public.Listener = connlimit.New(ln, connlimit.Bounds{
		All: g.Connections, PerAddress: perAddress,
		Exempt: func(a netip.Addr) bool { return g.Directory.Current().Trusts(a) },
		Shed:   func(cause connlimit.Cause) { g.Metrics.Shed(reason.Cause(cause)) },
	})
	public.Config.ConnContext, public.Config.ConnState = connlimit.Context, connlimit.State
	public.Start()
	g.Cleanup(public.Close)
	g.URL = public.URL
}
