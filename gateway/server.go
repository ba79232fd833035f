package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/trace"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/ratelimit"
	"github.com/uimgate/uimgate/internal/reason"
)

const (
	headerRequestID      = "Uim-Request-Id" // like the others, in the canonical form of net/http
	headerVersion        = "Uim-Version"
	headerProof          = "Uim-Proof"
	headerConfirmation   = "Uim-Confirmation"
	headerIdempotencyKey = "Idempotency-Key"
	headerTraceparent    = "Traceparent"
)

// A Server serves agents over HTTP. See UIM core, sections 3.2, 4, 5.
type Server struct {
	Config

	pipeline      door.Pipeline
	introductions introductions
	published     atomic.Pointer[publications]
	addresses     *ratelimit.Set
	floods        floods
	zippers       zippers
	handler       http.Handler
}

// routes registers the paths of the public listener. The first path of each line is the canonical one; most others come from the guides,
// the reference implementation and the draft.
func (s *Server) routes(e *echo.Echo) {
	get := func(h echo.HandlerFunc, paths ...string) {
		for _, p := range paths {
			e.GET(p, h)
			e.HEAD(p, h)
		}
	}
	post := func(h echo.HandlerFunc, paths ...string) {
		for _, p := range paths {
			e.POST(p, h)
		}
	}
	get(s.front, "/")
	get(s.icon, "/favicon.svg", "/favicon.ico")
	get(s.openAPI, "/openapi.json")
	get(s.protocol, page.ProtocolPath)
	get(s.guide, slices.Collect(maps.Keys(guides))...)
	get(s.errorList, "/errors")
	get(s.errorPage, "/errors/:reason")
	get(s.agentsFile, "/agents.json", "/.well-known/agents.json")
	get(s.policy, "/api/policy", "/policy.json", "/uim-policy.json")
	get(s.search, "/api/intents/search", "/uim/intents/search", "/discovery")
	get(s.intent, "/api/intents/:uid", "/uim/intents/:uid")
	get(s.keySet, "/.well-known/jwks.json")
	get(s.receipt, "/api/receipts/:id")
	get(s.usageEntries, "/api/usage/entries")
	get(s.usageStatement, "/api/usage/statement")
	get(s.balance, "/api/balance")
	get(s.checkpoint, "/api/log/checkpoint")
	get(s.logProof, "/api/log/proof")
	get(s.logConsistency, "/api/log/consistency")
	get(s.logTile, "/api/log/tile/*")
	post(s.issue, "/api/pat/issue", "/pat/issue")
	post(s.renew, "/api/pat/renew", "/pat/renew")
	post(s.revoke, "/api/pat/revoke", "/pat/revoke")
	post(s.introspect, "/api/pat/introspect", "/pat/introspect")
	post(s.credit, execute.CreditPath)
	post(s.creditWebhook, "/api/credit/webhook")
	post(s.execute, "/api/intents/execute", "/uim/execute", "/api/intents/execute/:uid")
	// Without these routes, GET /api/intents/execute would return the intent with the uid "execute".
	for _, path := range []string{"/api/intents/execute", "/api/intents/execute/:uid"} {
		e.Match([]string{
			http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch, http.MethodPut,
		}, path, onlyPost)
	}
}

func onlyPost(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderAllow, http.MethodPost)
	return echo.ErrMethodNotAllowed
}

// Handler returns the handler of the public listener.
func (s *Server) Handler() http.Handler { return s.handler }

func (s *Server) build() http.Handler {
	e := echo.New()
	s.routes(e)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := e.AcquireContext()
		c.Reset(r, w)
		e.Router().Find(r.Method, echo.GetPath(r), c)
		s.guard(c) //nolint:contextcheck // c carries the request and its context
		e.ReleaseContext(c)
	})
}

// An exchange is the state that the handlers of one request share. It is also the context of the request, with itself and the memory
// share as values, so that all three take one allocation.
type exchange struct {
	context.Context //nolint:containedctx // an exchange is itself a context, derived from this one

	share     membudget.Share
	service   *service.Service
	requestID execute.RequestID
	span      trace.Span
	idField   [1]string // requestID, as the values of a header field
	client    netip.Addr
	address   string       // the key for the client's limits
	origin    *door.Origin // nil: the request came over HTTP
	door.Outcome
}

type exchangeKey struct{}

// Value implements context.Context.
func (x *exchange) Value(key any) any {
	switch {
	case key == exchangeKey{}:
		return x
	case membudget.IsKey(key):
		return &x.share
	default:
		return x.Context.Value(key)
	}
}

// exchangeOf returns the exchange that guard created for a request.
func exchangeOf(c echo.Context) *exchange {
	x, _ := c.Request().Context().Value(exchangeKey{}).(*exchange)
	return x
}

// guard runs every handler: it assigns the request an id, limits the rate of its address, finds the service, recovers from panics, and
// logs the request.
func (s *Server) guard(c echo.Context) {
	began, r := s.Now(), c.Request()
	x := &exchange{Context: r.Context()}
	s.Memory.Start(&x.share)
	defer x.share.Close()
	r = r.WithContext(x)
	c.SetRequest(r)
	x.requestID, x.client = execute.RequestIDFrom(r.Header.Get(headerRequestID)), s.client(r)
	x.address = connlimit.CountedAs(x.client)
	x.span = s.Traces.Begin(r.Header.Get(headerTraceparent))
	if x.origin = door.OriginOf(x.Context); x.origin != nil {
		x.address = string(x.origin.Sender)
	}
	x.idField[0] = string(x.requestID)
	h := c.Response().Header()
	h[headerRequestID], h["X-Content-Type-Options"] = x.idField[:], noSniff
	var err error
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http also compares with ==
				panic(p)
			}
			err = s.panicked(x, p)
		}
		if err != nil {
			s.fail(c, x, err)
		} else {
			connlimit.Of(x.Context).MarkServed()
		}
		s.logRequest(x, line{began, r.Method, c.Path(), c.Response().Status, s.Now().Sub(began)})
	}()
	err = s.serve(c, x, began)
}

// panicked logs a panic with its stack but without its value, and returns the refusal to respond with.
func (s *Server) panicked(x *exchange, p any) error {
	s.Log.Error("panic", zap.String("request_id", string(x.requestID)), zap.String("kind", fmt.Sprintf("%T", p)),
		zap.ByteString("stack", debug.Stack()))
	return reason.Internal.Refusal("")
}

// admit refuses the request if its address sends too many requests.
func (s *Server) admit(x *exchange, now time.Time) error {
	if !s.addresses.Admit(x.address, now) {
		return reason.TooManyConnections.Refusal("").After(time.Second).ShedFor(reason.ShedRequestsAddress)
	}
	return nil
}

// serve passes the request to the door that serves its path. If there is no such door, it calls the handler of the path. Requests that came
// in a message never go to a door.
func (s *Server) serve(c echo.Context, x *exchange, began time.Time) error {
	r := c.Request()
	err := s.admit(x, began)
	if err != nil {
		return err
	}
	if x.service, err = s.serviceFor(r); err != nil {
		return err
	}
	if name := wire.RepeatedHeader(r.Header); name != "" {
		return reason.MalformedRequest.Refusal("The " + name + " header occurs more than once.")
	}
	if x.origin == nil && s.enter(c, x) {
		return nil
	}
	return c.Handler()(c)
}

// fail responds with the error envelope of err, unless the response has already begun. It closes the connection after the response if no
// request on it has succeeded, unless the client is a trusted proxy.
func (s *Server) fail(c echo.Context, x *exchange, err error) {
	if c.Response().Committed {
		return
	}
	f := refusal.For(routerError(err))
	x.Refusal = f
	issuer, about := "", wire.About{RequestID: string(x.requestID)}
	served := x.service
	if served == nil { // the request was refused before the service was found, or no service has the host
		served = s.serving(c.Request())
	}
	if served != nil {
		issuer, about.HelpURL = served.Issuer, served.HelpURL(f.Reason)
	}
	wire.WriteHeader(c.Response().Header(), f, issuer)
	shown := f
	if x.origin != nil {
		shown = refusal.InMessage(f)
	}
	body := wire.Envelope(shown, about)
	if served != nil && f.Reason == reason.NoSuchPath {
		body = lost(c, served, body)
	}
	if r := c.Request(); !connlimit.Of(r.Context()).Served() && !trusts(s.Directory.Current(), r.RemoteAddr) {
		c.Response().Header().Set("Connection", "close") // no request has succeeded on this connection: make room for other clients
	}
	if c.Request().Method == http.MethodHead {
		body = nil
	}
	c.Response().WriteHeader(f.Status())
	if _, err := c.Response().Write(body); err != nil {
		s.Log.Debug("response not delivered", zap.Error(wire.Loggable(err)))
	}
}

// routerError converts an error of the router to a refusal, and returns all other errors unchanged.
func routerError(err error) error {
	he, ok := errors.AsType[*echo.HTTPError](err)
	if !ok {
		return err
	}
	switch he.Code {
	case http.StatusNotFound:
		return reason.NoSuchPath.Refusal("")
	case http.StatusMethodNotAllowed:
		return reason.MethodNotAllowed.Refusal("")
	case http.StatusRequestEntityTooLarge:
		return reason.BodyTooLarge.Refusal("")
	case http.StatusUnsupportedMediaType:
		return reason.UnsupportedMediaType.Refusal("")
	case http.StatusBadRequest:
		return reason.MalformedRequest.Refusal("").Because(err)
	default:
		return err
	}
}
