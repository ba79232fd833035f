package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// Path is the path of the endpoint over HTTP.
	Path = "/mcp"
	// Limits of requests over HTTP.
	maxRequests = 64 // concurrent requests, including streams
	maxHeader   = 64 << 10
	readTime    = 30 * time.Second
	idleTime    = 2 * time.Minute
)

// ErrNotLoopback means that an address is not a loopback address with a port.
var ErrNotLoopback = errors.New("want a loopback address with a port, such as 127.0.0.1:8765")

// ListenAddress parses an address on which ServeHTTP may listen: a loopback address with a port. The error is ErrNotLoopback.
func ListenAddress(address string) (netip.AddrPort, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsLoopback() {
		return netip.AddrPort{}, ErrNotLoopback
	}
	return at, nil
}

// ServeHTTP serves MCP over streamable HTTP at Path, without sessions, until ctx is done. It then closes the listener, gives the calls in
// progress one second to finish, closes the Bridge, and returns nil; so it may be called only once. The listener must have a loopback
// address. So that no web page can reach the bridge, ServeHTTP accepts only requests whose Host is the listener's address, or localhost,
// 127.0.0.1 or [::1] with the listener's port. The Origin, if there is one, must be http:// followed by one of these. The error is
// ErrNotLoopback or an error of the listener. See MCP 2026-07-28, basic/transports/streamable-http.
func (b *Bridge) ServeHTTP(ctx context.Context, l net.Listener) error {
	defer b.finish()
	at, err := ListenAddress(l.Addr().String())
	if err != nil {
		_ = l.Close()
		b.stop()
		return err
	}
	go b.watch(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{
		Handler: b.endpoint(at), ReadHeaderTimeout: readTime, ReadTimeout: readTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		b.stop()
		return err
	case <-ctx.Done():
	}
	b.stop()
	ending, ended := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer ended()
	if server.Shutdown(ending) != nil {
		_ = server.Close() // streams have no deadline
	}
	return nil
}

// endpoint returns the HTTP handler, which checks requests before the SDK reads them.
func (b *Bridge) endpoint(at netip.AddrPort) http.Handler {
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return b.server }, &mcp.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: maxMessage, PropagateRequestCancellation: true,
	})
	own := []string{at.String(), netip.AddrPortFrom(netip.IPv6Loopback(), at.Port()).String()}
	for _, name := range []string{"localhost", "127.0.0.1"} {
		own = append(own, net.JoinHostPort(name, strconv.Itoa(int(at.Port()))))
	}
	places := make(chan struct{}, maxRequests)
	mux := http.NewServeMux()
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			refuse(w, http.StatusServiceUnavailable, jsonrpc.CodeInternalError, "too many requests are in progress: this one was not processed")
			return
		}
		if body, ok := message(w, r); ok {
			r = r.WithContext(context.WithValue(r.Context(), connection{}, r.Context()))
			r.Body = io.NopCloser(bytes.NewReader(body))
			handler.ServeHTTP(w, r)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origins := r.Header.Values("Origin")
		foreign := slices.ContainsFunc(origins, func(origin string) bool {
			return !slices.ContainsFunc(own, func(host string) bool { return origin == "http://"+host })
		})
		if !slices.Contains(own, r.Host) || foreign {
			refuse(w, http.StatusForbidden, jsonrpc.CodeInvalidRequest, "the Host and the Origin of a request must be those of this endpoint")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// message reads the body of a POST request, which must be one message, like a line of stdio. If the body is not such a message, message
// sends the error response and returns false. It ignores the bodies of other methods.
func message(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	if r.Method != http.MethodPost {
		return nil, true
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		refuse(w, status, jsonrpc.CodeInvalidRequest, "the body cannot be read, or is too large")
		return nil, false
	}
	if _, err := decode(body); err != nil {
		if code, known := errors.AsType[*jsonrpc.Error](err); known {
			refuse(w, http.StatusBadRequest, code.Code, code.Message)
		}
		return nil, false
	}
	return body, true
}

// refuse sends an error response without an id.
func refuse(w http.ResponseWriter, status int, code int64, what string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(withoutID(code, what))
}
