// Package admin holds the operator's operations on a running gateway, and their listener: an HTTP API with a token, health
// and metrics.
package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

const (
	// adminBody bounds the body of an admin request.
	adminBody = 64 << 10
	// adminWork bounds what one admin request does to the state. A reload takes as long as its policies take.
	adminWork = 30 * time.Second
)

// An Config is what the operator's listener is built on.
type Config struct {
	Directory  *service.Directory
	Agreements pat.Store
	Operations store.Operations
	Keys       *pat.Keyring
	View       *pat.View
	Metrics    *record.Metrics
	Log        *zap.Logger
	Now        func() time.Time
	// Token is asked for as bearer under /admin/v1/. Empty: nobody gets in.
	Token string
	// Reload takes over the configuration as it is now and returns what it found; nil: not offered.
	Reload func(context.Context) config.Problems
}

// A Server is the operator's listener: health and metrics for whoever reaches it, and the JSON API under
// /admin/v1/ for who has the token.
type Server struct {
	Config
	token    [sha256.Size]byte
	health   readiness
	scrape   http.Handler
	draining atomic.Bool // the process is about to end: see Drain
	handler  http.Handler
}

// New builds the operator's listener.
func New(c Config) *Server {
	a := &Server{Config: c, token: sha256.Sum256([]byte(c.Token))}
	a.scrape = promhttp.HandlerFor(c.Metrics.Registry(), promhttp.HandlerOpts{Registry: c.Metrics.Registry()})
	a.handler = a.build()
	return a
}

// Handler is the operator's surface. Without a token it answers /livez, /healthz, /readyz and /metrics; everything under
// /admin/v1/ needs the token as bearer, and a Host that is an IP address or localhost, so that no web page can reach it
// by a name of its own (DNS rebinding).
func (a *Server) Handler() http.Handler { return a.handler }

func (a *Server) build() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", a.livez)
	mux.HandleFunc("GET /healthz", a.livez)
	mux.HandleFunc("GET /readyz", a.readyz)
	mux.HandleFunc("GET /metrics", a.metrics)
	for _, path := range []string{"/livez", "/healthz", "/readyz", "/metrics"} {
		mux.HandleFunc(path, a.notAllowed("GET, HEAD"))
	}
	mux.Handle("/admin/", a.guard(a.api()))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { a.fail(w, r, noSuchPath()) })
	return a.recovering(mux)
}

// Drain makes readiness answer that this process is about to end, so that no new calls are sent to it. Calls go on being
// answered.
func (a *Server) Drain() { a.draining.Store(true) }

// An adminRoute is one operation of the API. Operations that change something are not cut off when who asked
// hangs up.
type adminRoute struct {
	method, path string
	do           func(*adminRequest) (any, error)
}

func (a *Server) routes() []adminRoute {
	get, post := http.MethodGet, http.MethodPost
	return []adminRoute{
		{get, "/status", a.status},
		{post, "/reload", a.reloadNow},
		{get, "/agents", a.agents},
		{get, "/agents/{id}", a.agent},
		{post, "/agents/{id}/block", a.blockAgent},
		{post, "/agents/{id}/unblock", a.unblockAgent},
		{post, "/agents/{id}/approve", a.approveAgent},
		{post, "/agents/{id}/keys", a.addAgentKey},
		{get, "/agreements", a.agreements},
		{get, "/agreements/{id}", a.agreement},
		{get, "/agreements/{id}/export", a.exportAgreement},
		{post, "/agreements/{id}/revoke", a.revokeAgreement},
		{get, "/policies", a.policies},
		{post, "/policies/{id}/revoke", a.revokePolicy},
		{get, "/pats", a.pats},
		{get, "/pats/{id}", a.pat},
		{post, "/pats/{id}/revoke", a.revokePAT},
		{post, "/introspect", a.introspect},
		{get, "/usage/accounts", a.accounts},
		{get, "/usage/statements", a.statements},
		{get, "/usage/ledger", a.ledger},
		{get, "/usage/executions", a.executions},
		{get, "/usage/executions/{id}", a.execution},
		{post, "/usage/executions/{id}/resolve", a.resolve},
		{post, "/usage/top-up", a.topUp},
		{get, "/keys", a.keys},
		{post, "/keys/rotate", a.rotateKey},
		{post, "/keys/{id}/retire", a.retireKey},
	}
}

func (a *Server) api() http.Handler {
	mux := http.NewServeMux()
	allowed := map[string][]string{}
	for _, route := range a.routes() {
		path := "/admin/v1" + route.path
		mux.HandleFunc(route.method+" "+path, a.operation(route))
		allowed[path] = append(allowed[path], route.method)
	}
	for path, methods := range allowed {
		mux.HandleFunc(path, a.notAllowed(strings.Join(methods, ", ")))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { a.fail(w, r, noSuchPath()) })
	return mux
}

// operation runs one route and answers with what it returns, as JSON.
func (a *Server) operation(route adminRoute) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if route.method != http.MethodGet {
			ctx = context.WithoutCancel(ctx)
		}
		if route.path != "/reload" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, adminWork)
			defer cancel()
		}
		q, err := a.request(r.WithContext(ctx))
		if err != nil {
			a.fail(w, r, err)
			return
		}
		answer, err := route.do(q)
		if err != nil {
			a.fail(w, r, adminFaultFor(err))
			return
		}
		if route.method != http.MethodGet {
			a.Log.Info("operator", zap.String("did", route.method+" "+route.path), zap.String("service", q.serviceID()), zap.String("subject", q.subject))
		}
		a.answer(w, http.StatusOK, answer)
	}
}

// guard lets in who has the token. It looks at nothing but the header.
func (a *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := a.admit(r); err != nil {
			a.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a *Server) admit(r *http.Request) error {
	host := service.HostName(r.Host)
	if _, err := netip.ParseAddr(host); err != nil && host != "localhost" {
		return reason.HostNotAllowed.Refusal("")
	}
	if name := wire.RepeatedHeader(r.Header); name != "" {
		return reason.MalformedRequest.Refusal("The header " + name + " stands more than once.")
	}
	token, err := wire.Bearer(r.Header)
	if err != nil {
		return reason.InvalidToken.Refusal("The Authorization header must be: Bearer <admin token>.")
	}
	if token == "" {
		return reason.MissingToken.Refusal("The admin token is missing.")
	}
	sum := sha256.Sum256([]byte(token)) // so that not even the length of the token shows in the time it takes
	if subtle.ConstantTimeCompare(sum[:], a.token[:]) != 1 || a.Token == "" {
		return reason.InvalidToken.Refusal("This is not the admin token of this gateway.")
	}
	return nil
}

func (a *Server) notAllowed(allow string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		a.fail(w, r, reason.MethodNotAllowed.Refusal(""))
	}
}

func noSuchPath() *reason.Refusal { return reason.NoSuchPath.Refusal("") }

// recovering answers panics. What the handler did write already stands.
func (a *Server) recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
				panic(p)
			}
			a.Log.Error("panic", zap.String("kind", fmt.Sprintf("%T", p)), zap.ByteString("stack", debug.Stack()))
			a.fail(w, r, reason.Internal.Refusal(""))
		}()
		next.ServeHTTP(w, r)
	})
}

// fail answers with the one envelope.
func (a *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := adminFaultFor(err)
	fields := []zap.Field{zap.String("method", r.Method), zap.String("route", r.Pattern), zap.Int("status", f.Status()), zap.String("reason", string(f.Reason))}
	switch {
	case f.Status() >= http.StatusInternalServerError:
		if cause := f.Unwrap(); cause != nil {
			fields = append(fields, zap.Error(wire.Bare(cause)))
		}
		a.Log.Error("admin request", fields...)
	case f.Status() == http.StatusUnauthorized || f.Status() == http.StatusForbidden:
		a.Log.Warn("admin request", append(fields, zap.String("address", wire.Peer(r.RemoteAddr).String()))...)
	}
	wire.WriteHeader(w.Header(), f, "uimgate admin")
	w.WriteHeader(f.Status())
	if _, err := w.Write(wire.OperatorEnvelope(f)); err != nil { //nolint:gosec // JSON, said to be so, and nosniff
		a.Log.Debug("answer not delivered", zap.Error(wire.Bare(err)))
	}
}

// rawJSON is an answer that is JSON already.
type rawJSON []byte

func (a *Server) answer(w http.ResponseWriter, status int, v any) {
	body, ok := v.(rawJSON)
	if !ok {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			a.Log.Error("admin answer", zap.Error(err))
			status = http.StatusInternalServerError
			out.Reset()
			out.Write(wire.OperatorEnvelope(reason.Internal.Refusal("The answer could not be written.")))
		}
		body = out.Bytes()
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		a.Log.Debug("answer not delivered", zap.Error(wire.Bare(err)))
	}
}
