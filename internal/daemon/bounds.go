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
	// bodiesPart is the part of the process's memory that bodies, and trees made from them, may take together.
	bodiesPart = 4
	// connectionsPart is the part that connections may take.
	connectionsPart = 4
	// perConnection is the memory of one while it is served, in bytes: 17 kB were measured; two buffers of net/http take 8 and a stack 8.
	// A parked one takes 5.
	perConnection = 24 << 10
	// perSecureConnection is the memory of one with TLS, which is never parked: 28 kB were measured after a short body, and 39 after one
	// of 20 kB, for which its buffer has grown.
	perSecureConnection = 40 << 10
	maxConnections      = 16 << 10
	// parkAfter is how long a connection waits for a request before it is parked. It is short compared with idleTimeout, and long
	// compared with the pauses of an agent that makes one call after another.
	parkAfter = time.Second
)

// bounds are those of the public listener.
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
		Trouble:    func(err error) { p.Log.Warn("no connection can be accepted for now", zap.Error(err)) },
	}
	if !secure {
		b.Answer = overloaded() // with TLS the client could not read it
		b.Park = cmp.Or(p.park, parkAfter)
	}
	return b
}

// overloaded is the response to a connection that is not accepted.
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
