package daemon

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
)

const (
	// bodiesPart limits bodies, and the trees parsed from them, to 1/bodiesPart of the memory of the process.
	bodiesPart = 4
	// connectionsPart limits connections to 1/connectionsPart of that memory.
	connectionsPart = 4
	// perConnection is the memory of one connection that is being served, in bytes: 17 kB were measured; two buffers of net/http take 8 kB of
	// them, and a stack takes another 8 kB. A parked connection takes 5 kB.
	perConnection = 24 << 10
	// perSecureConnection is the memory of one connection with TLS, which is never parked: 28 kB were measured after a short body, and 39 kB
	// after a body of 20 kB, because the buffer had grown.
	perSecureConnection = 40 << 10
	maxConnections      = 16 << 10
	// parkAfter is how long a connection waits for a request before it is parked. It is short compared with idleTimeout, and long compared
	// with the pauses of an agent that makes consecutive calls.
	parkAfter = time.Second
)

// bounds returns the limits of the public listener.
func (p *process) bounds() connlimit.Bounds {
	secure, each := p.config.Server.TLS.Enabled(), int64(perConnection)
	if secure {
		each = perSecureConnection
	}
	b := connlimit.Bounds{
		All:        int(max(1, min(maxConnections, membudget.Limit()/connectionsPart/each))),
		PerAddress: p.config.Server.Connections,
		Exempt:     func(address netip.Addr) bool { return p.directory.Current().Trusts(address) },
		Shed:       func(cause connlimit.Cause) { p.metrics.Shed(reason.Cause(cause)) },
		Trouble:    func(err error) { p.Log.Warn("connections cannot be accepted at the moment", zap.Error(err)) },
	}
	if !secure {
		b.Answer = overloaded() // with TLS, the client could not read an unencrypted answer
		b.Park = cmp.Or(p.park, parkAfter)
	}
	return b
}

// overloaded returns the response that is written to a connection that is not accepted.
func overloaded() []byte {
	f := reason.Overloaded.Refusal("").After(time.Second)
	body, h := wire.Envelope(f, wire.About{}), http.Header{"Connection": {"close"}}
	wire.WriteHeader(h, f, "")
	var out bytes.Buffer
	_, _ = fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\n", f.Status(), http.StatusText(f.Status()), len(body))
	_ = h.Write(&out)
	_, _ = out.WriteString("\r\n")
	_, _ = out.Write(body)
	return out.Bytes()
}
