package relay

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/connlimit"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// An operation handles a request whose sender is known.
type operation func(w http.ResponseWriter, c *call) *wire.Error

// A signedOperation is an operation with the limit that it counts against.
type signedOperation struct {
	do  operation
	use use
	// guards: the operation records the signature itself, together with its changes.
	guards bool
}

// routes are the routes of the protocol. Signed ones are found by path and method; the others are public.
func (r *Relay) routes() http.Handler {
	mux := http.NewServeMux()
	for path, methods := range map[string]map[string]signedOperation{
		"/v1/agents/{key}":              {"GET": {do: r.profile}, "PATCH": {do: r.change}, "DELETE": {do: r.deleteAgent}},
		"/v1/agents/{key}/capabilities": {"GET": {do: r.capabilities}},
		"/v1/agents/{key}/webhook":      {"PUT": {do: r.setWebhook}, "GET": {do: r.webhook}, "DELETE": {do: r.deleteWebhook}},
		"/v1/agents/{key}/acl":          {"PUT": {do: r.setEntry}, "GET": {do: r.entries}},
		"/v1/agents/{key}/acl/{peer}":   {"PUT": {do: r.setEntry}, "GET": {do: r.entry}, "DELETE": {do: r.deleteEntry}},
		"/v1/discover":                  {"GET": {do: r.discover}},
		"/v1/capabilities":              {"GET": {do: r.tags}},
		"/v1/messages":                  {"POST": {do: r.send, use: useSend, guards: true}, "GET": {do: r.poll, use: usePoll}},
		"/v1/messages/{id}":             {"GET": {do: r.message}},
		"/v1/messages/{id}/{part}":      {"GET": {do: r.ofMessages}},
		"/v1/blobs":                     {"POST": {do: r.upload}},
		"/v1/blobs/{id}":                {"GET": {do: r.download}, "HEAD": {do: r.download}, "DELETE": {do: r.deleteBlob}},
	} {
		mux.HandleFunc(path, r.signed(methods))
	}
	for path, open := range map[string]http.HandlerFunc{
		"/v1/health": r.health, "/v1/health/ready": r.ready, "/v1/health/live": r.live, "/v1/health/details": r.details,
		"/v1/openapi.json": r.describe, "/{$}": r.page, "/v1/ws": r.socket,
	} {
		mux.HandleFunc(path, r.open(open))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		r.refuse(w, wire.Refuse(wire.NotFound, "there is nothing at this path: see /v1/openapi.json"))
	})
	return mux
}

// ServeHTTP handles all paths below the prefix.
func (r *Relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("X-Request-ID", wire.NewRequestID())
	connection := http.NewResponseController(w)
	_ = connection.SetWriteDeadline(time.Time{}) // otherwise the deadline of an earlier response on the same connection would cut this one off
	// A request that is rejected at once may also have a body, and the server waits for it before it responds. Some writers have no
	// deadlines.
	_ = connection.SetReadDeadline(time.Now().Add(r.times.body)) //nolint:forbidigo // a deadline of the network
	if r.options.Prefix != "" {
		http.StripPrefix(r.options.Prefix, r.mux).ServeHTTP(w, req)
		return
	}
	r.mux.ServeHTTP(w, req)
}

// open bounds how often an address may send unsigned requests.
func (r *Relay) open(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.Method != http.MethodGet && req.Method != http.MethodHead:
			r.notAllowed(w, []string{http.MethodGet, http.MethodHead})
		case !r.unknownSenders.Admit(r.options.Client(req), r.now()):
			r.tooManyFrom(w)
		default:
			answer(w, req)
		}
	}
}

func (r *Relay) tooManyFrom(w http.ResponseWriter) {
	e := wire.Refuse(wire.RateLimited, "too many requests come from this address")
	e.RetryAfter = max(time.Second, r.unknownSenders.Wait())
	e.Details = map[string]any{"limit": r.limits.UnknownSenders.Max, "window": "1m", "retry_after": int64(e.RetryAfter / time.Second)}
	r.refuse(w, e)
}

func (r *Relay) notAllowed(w http.ResponseWriter, methods []string) {
	slices.Sort(methods)
	w.Header().Set("Allow", strings.Join(methods, ", "))
	e := wire.Refuse(wire.BadRequest, "this path has the methods "+strings.Join(methods, ", "))
	e.Status = http.StatusMethodNotAllowed
	r.refuse(w, e)
}

// peer is what the other end of a connection is counted under.
func peer(req *http.Request) string { return connlimit.CountedAs(connlimit.Peer(req.RemoteAddr)) }
