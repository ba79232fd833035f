package relay

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/connlimit"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// An operation handles a request whose sender is authenticated. If it returns an error, it has not responded.
type operation func(w http.ResponseWriter, c *call) *wire.Error

// A signedOperation is an operation with the limit that it counts against.
type signedOperation struct {
	do  operation
	use use
	// guards means that the operation records the signature itself, in the same transaction as its changes.
	guards bool
}

// reply returns an operation that responds with the result of do as JSON or, if it is nil, with no body.
func (r *Relay) reply(do func(*call) (any, *wire.Error)) operation {
	return func(w http.ResponseWriter, c *call) *wire.Error {
		result, refused := do(c)
		switch {
		case refused != nil:
			return refused
		case result == nil:
			r.nothing(w)
		default:
			r.json(w, http.StatusOK, result)
		}
		return nil
	}
}

// own is like reply, for an operation that only the agent whose key is in the path may use.
func (r *Relay) own(do func(*call) (any, *wire.Error)) operation {
	return r.reply(func(c *call) (any, *wire.Error) {
		k, refused := c.pathKey("key")
		if refused == nil && k != c.key() {
			refused = wire.Refuse(wire.Forbidden, "this belongs to another agent")
		}
		if refused != nil {
			return nil, refused
		}
		return do(c)
	})
}

// routes returns the handler of all routes. Signed operations are selected by path and method; all other routes are public.
func (r *Relay) routes() http.Handler {
	mux := http.NewServeMux()
	for path, methods := range map[string]map[string]signedOperation{
		"/v1/agents/{key}":              {"GET": {do: r.reply(r.profile)}, "PATCH": {do: r.own(r.change)}, "DELETE": {do: r.own(r.deleteAgent)}},
		"/v1/agents/{key}/capabilities": {"GET": {do: r.reply(r.capabilities)}},
		"/v1/agents/{key}/webhook": {
			"PUT": {do: r.own(r.setWebhook)}, "GET": {do: r.own(r.webhook)}, "DELETE": {do: r.own(r.deleteWebhook)},
		},
		"/v1/agents/{key}/acl": {"PUT": {do: r.own(r.setEntry)}, "GET": {do: r.own(r.entries)}},
		"/v1/agents/{key}/acl/{peer}": {
			"PUT": {do: r.own(r.setEntry)}, "GET": {do: r.own(r.entry)}, "DELETE": {do: r.own(r.deleteEntry)},
		},
		"/v1/discover":             {"GET": {do: r.discover}},
		"/v1/capabilities":         {"GET": {do: r.reply(r.tags)}},
		"/v1/messages":             {"POST": {do: r.send, use: useSend, guards: true}, "GET": {do: r.poll, use: usePoll}},
		"/v1/messages/{id}":        {"GET": {do: r.message}},
		"/v1/messages/{id}/{part}": {"GET": {do: r.ofMessages}},
		"/v1/blobs":                {"POST": {do: r.upload}},
		"/v1/blobs/{id}":           {"GET": {do: r.download}, "HEAD": {do: r.download}, "DELETE": {do: r.deleteBlob}},
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
		r.refuse(w, wire.Refuse(wire.NotFound, "this path does not exist: see /v1/openapi.json"))
	})
	return mux
}

// ServeHTTP handles all paths below the prefix.
func (r *Relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("X-Request-ID", wire.NewRequestID())
	connection := http.NewResponseController(w)
	_ = connection.SetWriteDeadline(time.Time{}) // otherwise the deadline of an earlier response on this connection still applies
	// A request that is rejected immediately may also have a body, which the server reads before it responds. Errors are ignored, because
	// some writers do not support deadlines.
	_ = connection.SetReadDeadline(time.Now().Add(r.times.body)) //nolint:forbidigo // a deadline of the network
	if r.options.Prefix != "" {
		http.StripPrefix(r.options.Prefix, r.mux).ServeHTTP(w, req)
		return
	}
	r.mux.ServeHTTP(w, req)
}

// open returns a handler for unsigned requests with GET or HEAD. The handler limits the number of requests from one client address.
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
	e := wire.Refuse(wire.RateLimited, "too many requests from this address")
	e.RetryAfter = max(time.Second, r.unknownSenders.Wait())
	e.Details = map[string]any{"limit": r.limits.UnknownSenders.Max, "window": "1m", "retry_after": int64(e.RetryAfter / time.Second)}
	r.refuse(w, e)
}

func (r *Relay) notAllowed(w http.ResponseWriter, methods []string) {
	slices.Sort(methods)
	w.Header().Set("Allow", strings.Join(methods, ", "))
	e := wire.Refuse(wire.BadRequest, "this path supports only the methods "+strings.Join(methods, ", "))
	e.Status = http.StatusMethodNotAllowed
	r.refuse(w, e)
}

// peer returns the address or network of the other end of the connection of a request. Limits count requests under this name.
func peer(req *http.Request) string { return connlimit.CountedAs(connlimit.Peer(req.RemoteAddr)) }
