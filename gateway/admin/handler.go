package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/reason"
)

// workTime is the time limit of one request. Requests that reload have no limit, because compiling the policies may take longer.
const workTime = 30 * time.Second

// A Listener configures the HTTP handler of an Operator.
type Listener struct {
	// Tokens checks the bearer token that requests under Path must have. Share it with the console, so that both count wrong tokens together.
	// nil: all these requests are refused, unless the listener is owned.
	Tokens *signin.TokenCheck
	// Owned states that only the operator can reach the listener, for example because it is a socket that only its owner may open. The
	// listener then checks neither the token nor the Host of a request.
	Owned   bool
	Metrics *prometheus.Registry
	// Console serves the paths under ConsolePath, unless admin.console is false. Its requests need no token, but their Host is checked even
	// if the listener is owned, because a browser sends them. nil: the process has no console.
	Console http.Handler
	// Shed counts a refusal by its cause. nil: refusals are not counted.
	Shed func(reason.Cause)
}

// Path is the common path of the operations.
const Path = "/admin/v1"

// ConsolePath is the common path of the pages of the console.
const ConsolePath = "/console/"

// Handler returns the handler of the admin listener. Requests under Path need the bearer token; /livez, /healthz, /readyz and /metrics do
// not. Unless the path is /livez or /healthz, which reveal nothing, the Host of a request must be an IP address, localhost or one of
// admin.hosts. Otherwise a web page could reach the listener through a domain name that resolves to this machine (DNS rebinding).
func Handler(o *Operator, l Listener) http.Handler {
	a := newListener(o, l)
	mux := a.probes()
	mux.Handle("/admin/", a.guard(a.api()))
	if a.console != nil {
		mux.HandleFunc(ConsolePath, a.browsed(a.console))
		mux.HandleFunc("GET /{$}", a.browsed(http.RedirectHandler(ConsolePath, http.StatusSeeOther)))
	}
	return a.recovering(mux)
}

// Probes returns the part of Handler that needs no token: /livez, /healthz, /readyz and /metrics. It may be served without TLS.
func Probes(o *Operator, l Listener) http.Handler {
	a := newListener(o, l)
	return a.recovering(a.probes())
}

func newListener(o *Operator, l Listener) *listener {
	if l.Tokens == nil {
		l.Tokens = signin.NewTokenCheck(func() string { return "" }, o.now)
	}
	return &listener{
		operator: o, tokens: l.Tokens, owned: l.Owned, console: l.Console, shed: l.Shed,
		scrape: promhttp.HandlerFor(l.Metrics, promhttp.HandlerOpts{Registry: l.Metrics, EnableOpenMetrics: true}),
	}
}

func (a *listener) probes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", a.livez)
	mux.HandleFunc("GET /healthz", a.livez)
	mux.HandleFunc("GET /readyz", a.here(a.readyz))
	mux.HandleFunc("GET /metrics", a.here(a.metrics))
	for _, path := range []string{"/livez", "/healthz", "/readyz", "/metrics"} {
		mux.HandleFunc(path, a.notAllowed("GET, HEAD"))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { a.fail(w, r, noSuchPath()) })
	return mux
}

type listener struct {
	operator *Operator
	tokens   *signin.TokenCheck
	owned    bool
	console  http.Handler
	scrape   http.Handler
	shed     func(reason.Cause)
}

// livez reports only that the process responds. /readyz reports failures that a restart of the process would not fix.
func (a *listener) livez(w http.ResponseWriter, _ *http.Request) {
	a.answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (a *listener) readyz(w http.ResponseWriter, r *http.Request) {
	h := a.operator.Statuses.Health(r.Context())
	status := http.StatusOK
	if !h.Ready {
		status = http.StatusServiceUnavailable
	}
	a.answer(w, status, h)
}

func (a *listener) metrics(w http.ResponseWriter, r *http.Request) {
	if !a.operator.services.Directory.Current().Metrics {
		a.fail(w, r, noSuchPath())
		return
	}
	a.scrape.ServeHTTP(w, r)
}

func (a *listener) api() http.Handler {
	mux := http.NewServeMux()
	allowed := map[string][]string{}
	for _, o := range endpoints(a.operator) {
		path := Path + o.Path
		mux.HandleFunc(o.Method+" "+path, a.serve(o))
		allowed[path] = append(allowed[path], o.Method)
	}
	for path, methods := range allowed {
		mux.HandleFunc(path, a.notAllowed(strings.Join(methods, ", ")))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { a.fail(w, r, noSuchPath()) })
	return mux
}

// serve returns a handler that carries out one operation and responds with its result as JSON.
func (a *listener) serve(o endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := api.WithCaller(r.Context(), a.caller(w))
		if o.Method != http.MethodGet {
			ctx = context.WithoutCancel(ctx)
		}
		if !o.reloads() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, workTime)
			defer cancel()
		}
		c, err := readCall(a.operator, r.WithContext(ctx))
		if err != nil {
			a.fail(w, r, err)
			return
		}
		answer, err := o.do(c)
		if err != nil {
			if o.Role != api.RoleViewer {
				a.operator.failed(a.caller(w), c.change(o.Name()), err)
			}
			a.fail(w, r, err)
			return
		}
		if o.Role != api.RoleViewer { // operations that every role may use change nothing
			a.operator.did(a.caller(w), c.change(o.Name()))
		}
		a.answer(w, http.StatusOK, answer)
	}
}

// guard passes a request to the handler next if admit accepts it. It does not read the body.
func (a *listener) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := a.admit(r); err != nil {
			a.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// caller returns the Caller of an operation over HTTP: the owner of the socket, or a holder of the admin token.
func (a *listener) caller(w http.ResponseWriter) api.Caller {
	c := api.Caller{Name: "operator", Role: api.RoleAdmin, Via: "token", RequestID: aboutRequest(w).RequestID}
	if a.owned {
		c.Name, c.Via = "owner", "socket"
	}
	return c
}

func (a *listener) admit(r *http.Request) error {
	if a.owned {
		return nil
	}
	if err := a.atHome(r); err != nil {
		return err
	}
	from := connlimit.Peer(r.RemoteAddr)
	if err := a.tokens.Throttled(from); err != nil {
		return err
	}
	if name := wire.RepeatedHeader(r.Header); name != "" {
		return reason.MalformedRequest.Refusal("The " + name + " header occurs more than once.")
	}
	token, err := wire.Bearer(r.Header)
	if err != nil {
		return reason.InvalidToken.Refusal("The Authorization header must be: Bearer <admin token>.")
	}
	if token == "" {
		return reason.MissingToken.Refusal("The admin token is missing.")
	}
	return a.tokens.Check(from, token)
}

// browsed passes the requests of browsers to the handler next if the gateway has a console and their Host is its own.
func (a *listener) browsed(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := a.knownHost(r)
		if err == nil && !a.operator.services.Directory.Current().Console {
			err = noSuchPath()
		}
		if err != nil {
			a.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// atHome is knownHost for a listener that is not owned. A listener that is owned accepts every Host.
func (a *listener) atHome(r *http.Request) error {
	if a.owned {
		return nil
	}
	return a.knownHost(r)
}

// knownHost rejects a request whose Host is neither an IP address nor localhost nor one of admin.hosts.
func (a *listener) knownHost(r *http.Request) error {
	host := service.HostName(r.Host)
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
		return nil
	}
	if slices.Contains(a.operator.services.Directory.Current().AdminHosts, host) {
		return nil
	}
	return reason.HostNotAllowed.Refusal("")
}

// here passes a request to the handler next unless atHome rejects it.
func (a *listener) here(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := a.atHome(r); err != nil {
			a.fail(w, r, err)
			return
		}
		next(w, r)
	}
}

func (a *listener) notAllowed(allow string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		a.fail(w, r, reason.MethodNotAllowed.Refusal(""))
	}
}

func noSuchPath() *reason.Refusal { return reason.NoSuchPath.Refusal("") }

// HeaderRequestID is the header field with the id that identifies a request in the log. The client or the gateway chooses the id.
const HeaderRequestID = "UIM-Request-ID"

func aboutRequest(w http.ResponseWriter) wire.About {
	return wire.About{RequestID: w.Header().Get(HeaderRequestID)}
}

// recovering assigns each request an id, and recovers from panics of the handler next. It cannot recall the bytes that next has already
// sent.
func (a *listener) recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set(HeaderRequestID, string(execute.RequestIDFrom(r.Header.Get(HeaderRequestID))))
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http also compares with ==
				panic(p)
			}
			a.operator.log.Error("panic", zap.String("request_id", aboutRequest(w).RequestID), zap.String("kind", fmt.Sprintf("%T", p)),
				zap.ByteString("stack", debug.Stack()))
			a.fail(w, r, reason.Internal.Refusal(""))
		}()
		next.ServeHTTP(w, r)
	})
}

// fail counts and logs an error, and responds with the common error envelope.
func (a *listener) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := refusalFor(err)
	if a.shed != nil {
		a.shed(f.Shed)
	}
	about := aboutRequest(w)
	fields := []zap.Field{
		zap.String("request_id", about.RequestID),
		zap.String("method", wire.Method(r.Method)), zap.String("route", r.Pattern), zap.Int("status", f.Status()),
		zap.String("reason", string(f.Reason)),
	}
	switch {
	case f.Status() >= http.StatusInternalServerError:
		if cause := f.Unwrap(); cause != nil {
			fields = append(fields, zap.Error(wire.Loggable(cause)))
		}
		a.operator.log.Error("admin request", fields...)
	case f.Status() == http.StatusUnauthorized || f.Status() == http.StatusForbidden:
		a.operator.log.Warn("admin request", append(fields, zap.String("address", connlimit.Peer(r.RemoteAddr).String()))...)
	}
	wire.WriteHeader(w.Header(), f, "uimgate admin")
	w.WriteHeader(f.Status())
	if _, err := w.Write(wire.OperatorEnvelope(f, about)); err != nil {
		a.operator.log.Debug("response not delivered", zap.Error(wire.Loggable(err)))
	}
}

func (a *listener) answer(w http.ResponseWriter, status int, v any) {
	var body []byte
	if document, ok := v.(json.RawMessage); ok { // send it unchanged
		body = append(document, '\n')
	} else {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			a.operator.log.Error("admin response could not be encoded", zap.Error(err))
			status = http.StatusInternalServerError
			out.Reset()
			out.Write(wire.OperatorEnvelope(reason.Internal.Refusal("The response could not be encoded."), aboutRequest(w)))
		}
		body = out.Bytes()
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		a.operator.log.Debug("response not delivered", zap.Error(wire.Loggable(err)))
	}
}
