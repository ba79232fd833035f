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

// serviceFor returns the service of a request. It alone reads the host of a request, before every door and every route. If the connection
// came to an address that only this machine reaches, the host must be a name of the service, so that no page of another site reaches the
// gateway by a name that its owner points to this machine (DNS rebinding). A trusted proxy has already checked the name. The error is a
// *reason.Refusal.
func (s *Server) serviceFor(r *http.Request) (*service.Service, error) {
	snapshot := s.directory.Current()
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
	case local(r) && !proxied && host != "" && !found.KnownAs(host): // HTTP/1.0 needs no host, and browsers always send one
		return nil, reason.OriginNotAllowed.Refusal("The service is not reached under this host name.").
			With("suggestion", "Use the address that agents.json publishes.")
	}
	return found, nil
}

// named returns the service with an id. The error is a *reason.Refusal.
func named(snapshot *service.Snapshot, id string) (*service.Service, error) {
	if found := snapshot.Service(id); found != nil {
		return found, nil
	}
	return nil, reason.UnknownHost.Refusal("")
}

// serving is serviceFor, but returns nil instead of an error.
func (s *Server) serving(r *http.Request) *service.Service {
	found, err := s.serviceFor(r)
	if err != nil {
		return nil
	}
	return found
}

// hostOf returns the host that a request names. X-Forwarded-Host counts only from a trusted proxy. The last field is the proxy's own;
// earlier ones may be the client's. A list in it does not show which host the proxy means, and is refused.
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
		return "", reason.MalformedRequest.Refusal("The header " + forwardedHost + " has a list of hosts: the proxy must set it to one.")
	}
	return last, nil
}

// local reports whether a request came to an address of this machine alone.
func local(r *http.Request) bool {
	bound, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && bound.IP.IsLoopback()
}
