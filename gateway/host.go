package gateway

import (
	"net"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
)

const forwardedHost = "X-Forwarded-Host"

// serviceFor returns the service of a request. It is the only function that reads the host of a request, and runs before all doors and
// routes. If the connection came to a loopback address, the host must be a name of the service. Otherwise a web page could reach the
// gateway through a domain name that resolves to this machine (DNS rebinding). This does not apply to requests from a trusted proxy, which
// has already checked the host. The error is a *reason.Refusal.
func (s *Server) serviceFor(r *http.Request) (*service.Service, error) {
	snapshot := s.Directory.Current()
	if o := door.OriginOf(r.Context()); o != nil {
		return named(snapshot, o.Service)
	}
	proxied := trusts(snapshot, r.RemoteAddr)
	host, err := hostOf(r, proxied)
	if err != nil {
		return nil, err
	}
	found := snapshot.ForHost(host)
	switch {
	case found == nil:
		return nil, reason.UnknownHost.Refusal("")
	case local(r) && !proxied && host != "" && !found.KnownAs(host): // HTTP/1.0 requests may lack a host; browsers always send it
		return nil, reason.OriginNotAllowed.Refusal("This host name does not belong to the service.").
			With("suggestion", "Use the address that agents.json publishes.")
	}
	return found, nil
}

// named returns the service with the given id. The error is a *reason.Refusal.
func named(snapshot *service.Snapshot, id string) (*service.Service, error) {
	if found := snapshot.Service(id); found != nil {
		return found, nil
	}
	return nil, reason.UnknownHost.Refusal("")
}

// serving is like serviceFor, but returns nil instead of an error.
func (s *Server) serving(r *http.Request) *service.Service {
	found, err := s.serviceFor(r)
	if err != nil {
		return nil
	}
	return found
}

// hostOf returns the host that a request names. X-Forwarded-Host counts only from a trusted proxy. hostOf reads its last field, because
// earlier fields may come from the client. It refuses a list of hosts, because a list does not show which host the proxy means.
func hostOf(r *http.Request, proxied bool) (string, error) {
	fields := r.Header.Values(forwardedHost)
	if !proxied || len(fields) == 0 {
		return r.Host, nil
	}
	last := strings.TrimSpace(fields[len(fields)-1])
	switch {
	case last == "":
		return r.Host, nil
	case strings.Contains(last, ","):
		return "", reason.MalformedRequest.Refusal("The " + forwardedHost + " header has a list of hosts: configure the proxy to send one host.")
	}
	return last, nil
}

// local reports whether a request came to a loopback address.
func local(r *http.Request) bool {
	bound, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && bound.IP.IsLoopback()
}
