package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"go.uber.org/zap"
)

const (
	mediaTypeUIM = "application/uim+json"

	headerRequestID      = "UIM-Request-ID"
	headerVersion        = "UIM-Version"
	headerProof          = "UIM-Proof"
	headerIdempotencyKey = "Idempotency-Key"
	headerTraceparent    = "Traceparent"
)

// A Server answers agents over HTTP. UIM core 3.2, 4, 5.
type Server struct {
	deps     Deps
	executor *Executor
	current  atomic.Pointer[Snapshot]
	doors    *doors
	metrics  *Metrics
	log      *zap.Logger
	now      func() time.Time
	handler  http.Handler
	draining atomic.Bool // the process is about to end: see Drain
}

// routes are the paths of the public listener; the first of each line is the canonical one, the others
// are what the guides, the reference implementation and the draft call it.
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
	get(s.openAPI, "/openapi.json")
	get(s.agentsFile, "/agents.json", "/.well-known/agents.json")
	get(s.policy, "/api/policy", "/policy.json", "/uim-policy.json")
	get(s.search, "/api/intents/search", "/uim/intents/search", "/discovery")
	get(s.intent, "/api/intents/:uid", "/uim/intents/:uid")
	get(s.keySet, "/.well-known/jwks.json")
	post(s.issue, "/api/pat/issue", "/pat/issue")
	post(s.renew, "/api/pat/renew", "/pat/renew")
	post(s.revoke, "/api/pat/revoke", "/pat/revoke")
	post(s.introspect, "/api/pat/introspect", "/pat/introspect")
	post(s.execute, "/api/intents/execute", "/uim/execute")
	// Which would be an intent's uid otherwise.
	e.Match([]string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch, http.MethodPut}, "/api/intents/execute", onlyPost)
}

func onlyPost(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderAllow, http.MethodPost)
	return echo.ErrMethodNotAllowed
}

// Handler is the public surface.
func (s *Server) Handler() http.Handler { return s.handler }

func (s *Server) build() http.Handler {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = func(err error, c echo.Context) { s.fail(c, err) }
	e.Use(s.guard)
	s.routes(e)
	return e
}

// exchange is what the handlers of one request share.
type exchange struct {
	service   *Service
	requestID string
	client    netip.Addr
	address   string // that the client is counted under
	fault     *Fault // what was answered, if it was a failure
	event     *Event // of an execute call
}

const exchangeKey = "exchange"

func exchangeOf(c echo.Context) *exchange {
	x, _ := c.Get(exchangeKey).(*exchange)
	return x
}

// guard stands before every handler: it names the request, finds the service, holds back addresses that
// ask too much, answers panics, and writes the one log line.
func (s *Server) guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		began := s.now()
		r := c.Request()
		client := s.client(r)
		x := &exchange{requestID: requestID(r), client: client, address: countedAs(client)}
		c.Set(exchangeKey, x)
		h := c.Response().Header()
		h.Set(headerRequestID, x.requestID)
		h.Set("X-Content-Type-Options", "nosniff")
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
					panic(p)
				}
				s.log.Error("panic", zap.String("request_id", x.requestID), zap.String("kind", fmt.Sprintf("%T", p)), zap.ByteString("stack", debug.Stack()))
				err = newFault("INTERNAL", "The gateway failed.")
			}
			if err != nil {
				s.fail(c, err)
				err = nil
			}
			s.logRequest(c, x, s.now().Sub(began))
		}()
		if !s.doors.admit(x.address, began) {
			return newFault("TOO_MANY_CONNECTIONS", "Too many requests from this address.").after(time.Second)
		}
		x.service = s.serviceFor(r)
		if x.service == nil {
			return newFault("UNKNOWN_HOST", "No service answers to this host name here.")
		}
		if name := repeatedHeader(r.Header); name != "" {
			return newFault("MALFORMED_REQUEST", "The header "+name+" stands more than once.")
		}
		return next(c)
	}
}

// repeatedHeader names a header whose repetition would leave open which one counts.
func repeatedHeader(h http.Header) string {
	for _, name := range []string{"Authorization", headerIdempotencyKey, "Uim-Proof", "Content-Type"} {
		if len(h[name]) > 1 {
			return name
		}
	}
	return ""
}

// fail answers with the one envelope, whatever went wrong.
func (s *Server) fail(c echo.Context, err error) {
	if c.Response().Committed {
		return
	}
	x := exchangeOf(c)
	f := faultFor(echoFault(err))
	issuer := ""
	if x != nil {
		x.fault = f
		if x.service != nil {
			issuer = x.service.Issuer
		}
	}
	f.writeHeader(c.Response().Header(), issuer)
	body := f.envelope()
	if c.Request().Method == http.MethodHead {
		body = nil
	}
	c.Response().WriteHeader(f.Status)
	if _, err := c.Response().Write(body); err != nil {
		s.log.Debug("answer not delivered", zap.Error(bare(err)))
	}
}

// echoFault translates the router's own errors.
func echoFault(err error) error {
	var he *echo.HTTPError
	if !errors.As(err, &he) {
		return err
	}
	switch he.Code {
	case http.StatusNotFound:
		return newFault("NO_SUCH_PATH", "There is nothing at this path.")
	case http.StatusMethodNotAllowed:
		return newFault("METHOD_NOT_ALLOWED", "This path does not take this method.")
	case http.StatusRequestEntityTooLarge:
		return newFault("BODY_TOO_LARGE", "The body is larger than this gateway takes.")
	case http.StatusUnsupportedMediaType:
		return newFault("UNSUPPORTED_MEDIA_TYPE", "The body must be JSON in UTF-8.")
	case http.StatusBadRequest:
		return newFault("MALFORMED_REQUEST", "The request is not well formed.").because(err)
	default:
		return err
	}
}

func (s *Server) serviceFor(r *http.Request) *Service {
	snapshot := s.current.Load()
	host := r.Host
	if snapshot.trusts(r.RemoteAddr) {
		if forwarded := r.Header.Get("X-Forwarded-Host"); forwarded != "" {
			host, _, _ = strings.Cut(forwarded, ",")
		}
	}
	return snapshot.service(host)
}

func (s *Server) logRequest(c echo.Context, x *exchange, took time.Duration) {
	status := c.Response().Status
	route := c.Path()
	fields := []zap.Field{
		zap.String("request_id", x.requestID), zap.String("method", c.Request().Method), zap.String("route", route),
		zap.Int("status", status), zap.Duration("took", took), zap.String("address", x.address),
	}
	if x.service != nil {
		fields = append(fields, zap.String("service", x.service.ID))
	}
	if x.event != nil {
		fields = append(fields, x.event.fields()...)
	}
	if x.fault != nil {
		fields = append(fields, zap.String("code", x.fault.Code), zap.String("reason", string(x.fault.Reason)))
		if x.fault.cause != nil && status >= http.StatusInternalServerError {
			fields = append(fields, zap.Error(bare(x.fault.cause)))
		}
	}
	s.metrics.request(route, status, took)
	if status >= http.StatusInternalServerError {
		s.log.Error("request", fields...)
		return
	}
	s.log.Info("request", fields...)
}
