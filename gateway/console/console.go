// Package console serves pages on which an operator watches and runs a gateway with a browser. The pages use the operations of package
// admin, work without JavaScript, and need no build step.
//
//	pages := console.New(console.Config{Operator: operator, Directory: directory, Store: state, Tokens: tokens, …})
//	http.Serve(ln, admin.Handler(operator, admin.Listener{Console: pages, …}))
package console

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/oidc"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/store"
)

const (
	sessionTime = 12 * time.Hour   // a session ends then in any case
	idleTime    = 30 * time.Minute // a session ends then unless it is used
	confirmTime = 5 * time.Minute  // a person who has proved their identity need not do so again for this time
	workTime    = 30 * time.Second // for one request
	maxForm     = 64 << 10         // bytes of a form
)

// A Store keeps the sessions of signed-in people. The errors are those of package sqlstore.
type Store interface {
	AddConsoleSession(ctx context.Context, c store.ConsoleSession) error
	ConsoleSession(ctx context.Context, id string) (store.ConsoleSession, error)
	ConsoleSessions(ctx context.Context, limit int) ([]store.ConsoleSession, error)
	KeepConsoleSession(ctx context.Context, id string, until time.Time) error
	ConfirmConsoleSession(ctx context.Context, id string, at time.Time) error
	EndConsoleSession(ctx context.Context, id string) error
	TakeConsoleLink(ctx context.Context, code string) (store.ConsoleLink, error)
}

// Config configures a Console. All fields except OIDC, Dump and Shed are required.
type Config struct {
	Operator  *admin.Operator
	Directory *service.Directory
	Store     Store
	Tokens    *signin.TokenCheck
	// OIDC returns the identity provider through which people can sign in, or nil if there is none. nil: none.
	OIDC func() *oidc.Provider
	// Dump returns the configuration in use as YAML, with secrets masked. nil: it is not shown.
	Dump func() []byte
	// Shed counts a refusal by its cause. nil: refusals are not counted.
	Shed func(reason.Cause)
	Log  *zap.Logger
	Now  func() time.Time
}

// A Console is the handler of all paths under admin.ConsolePath. It is safe for concurrent use.
type Console struct {
	Config

	mux     *http.ServeMux
	origins *http.CrossOriginProtection
	streams streams

	revenues *cache.Cache[string, revenue] // by query
}

// New returns a Console.
func New(c Config) *Console {
	out := &Console{
		Config: c, mux: http.NewServeMux(), origins: http.NewCrossOriginProtection(),
		revenues: cache.New(cache.Options[string, revenue]{Max: maxRevenues, SinceWrite: revenueKept}),
	}
	out.streams.end = make(chan struct{})
	out.streams.places.Most, out.streams.places.MostOf = mostStreams, mostStreamsOfOne
	out.routes()
	return out
}

// Shutdown ends the streams of events, so that a server can shut down while pages are open.
func (c *Console) Shutdown() { c.streams.once.Do(func() { close(c.streams.end) }) }

// routes registers every path.
func (c *Console) routes() {
	c.mux.HandleFunc("GET /console/assets/{name}", c.asset)
	c.open("GET", "signin", (*request).signInPage)
	c.open("POST", "signin", (*request).signIn)
	c.open("GET", "link", (*request).linkPage)
	c.open("POST", "link", (*request).useLink)
	c.open("GET", "oidc", (*request).finishOIDC)
	c.open("GET", "oidc/start", (*request).startOIDC)
	c.signedIn("POST", "signout", (*request).signOut)
	for path, show := range pages {
		c.signedIn("GET", path, show)
	}
	for _, a := range allActions() {
		c.signedIn("POST", a.path, func(r *request) error { return r.act(a) })
	}
	c.signedIn("GET", "events", (*request).events)
	c.signedIn("GET", "", func(*request) error { return errNoPage })
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // browsers send no Origin with forms of pages with a stricter policy
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	most := int64(0)
	if r.Method == http.MethodPost {
		most = maxForm
		if path := r.URL.Path; strings.HasSuffix(path, "/decide") || strings.HasPrefix(path, admin.ConsolePath+"policy/") {
			most += 3 * odrl.MaxDocument // forms are percent-encoded
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	c.mux.ServeHTTP(w, r)
}

// open registers a page for everyone.
func (c *Console) open(method, path string, do func(*request) error) {
	c.mux.HandleFunc(method+" "+admin.ConsolePath+path, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), workTime)
		defer cancel()
		q := &request{Request: r.WithContext(ctx), console: c, w: w}
		if err := q.checkOrigin(); err != nil {
			q.fail(err)
			return
		}
		if err := do(q); err != nil {
			q.fail(err)
		}
	})
}

// signedIn registers a page for people who have signed in. A form must also have the CSRF token of its path. A change continues if the
// browser disconnects.
func (c *Console) signedIn(method, path string, do func(*request) error) {
	pattern := method + " " + admin.ConsolePath + path
	if path == "" || strings.HasSuffix(path, "/") {
		pattern += "{rest...}"
	}
	if path == overview {
		pattern = method + " " + admin.ConsolePath + "{$}"
	}
	c.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := r.Context(), context.CancelFunc(func() {})
		if method == http.MethodPost {
			ctx = context.WithoutCancel(ctx)
		}
		if path != "events" && path != "settings/reload" && path != "policy/save" && path != "catalogue/curation/save" {
			ctx, cancel = context.WithTimeout(ctx, workTime)
		}
		defer cancel()
		q := &request{Request: r.WithContext(ctx), console: c, w: w}
		err := q.identify() //nolint:contextcheck // it has the context of the request
		if err == nil && method == http.MethodPost {
			err = q.checkForm()
		}
		if err == nil {
			err = q.checkText()
		}
		if err == nil {
			err = do(q)
		}
		if err != nil {
			q.fail(err)
		}
	})
}

// streams are the open streams of events.
type streams struct {
	places connlimit.Places // by session
	once   sync.Once
	end    chan struct{} // closed by Shutdown
	fresh  liveFigures
}
