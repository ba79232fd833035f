package console_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/gateway/console"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/internal/oidc"
	"github.com/uimgate/uimgate/internal/playground"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

const adminToken = "admin-token-canary-0123456789"

// approval are settings with which agents wait for approval.
const approval = "pat: {admission: approval}\nservices:\n" +
	"- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, " + gatetest.Unproved + "}\n"

// An auditFile keeps the records that were written to the audit stream.
type auditFile struct{ bytes.Buffer }

func (*auditFile) Sync() error  { return nil }
func (*auditFile) Close() error { return nil }

// A consoleGate is a gateway with a console.
type consoleGate struct {
	*gatetest.Gate
	operator *admin.Operator
	pages    *console.Console
	listener *httptest.Server
	audited  *auditFile
	token    string
	provider atomic.Pointer[oidc.Provider] // the identity provider; nil: there is none
	problems config.Problems               // the result of the next reload
}

func newConsoleGate(t *testing.T, settings string, prepare ...func(*gatetest.Gate)) *consoleGate {
	t.Helper()
	g := &consoleGate{Gate: gatetest.New(t, settings, prepare...), audited: &auditFile{}, token: adminToken}
	g.listener = httptest.NewUnstartedServer(nil)
	g.operator = admin.New(admin.Config{
		Directory: g.Directory, Store: g.Store, Keys: g.Keys, Receipts: g.Receipts, View: g.View, Log: g.Log, Now: g.Now, Doors: g.Modules,
		Index: g.Index, Figures: g.Figures, ProcessID: g.Replica.ID(), Intents: g.Intents, AuditPath: g.AuditPath(),
		Reload: func(context.Context, bool) config.Problems {
			if !g.problems.Failed() {
				g.Reload() //nolint:contextcheck // a test
			}
			return g.problems
		},
		Audit: record.NewAudit(record.AuditOptions{
			Open: func() (record.File, error) { return g.audited, nil }, Log: g.Log, Metrics: g.Metrics,
		}),
		ConsoleURL: func() string { return g.listener.URL + admin.ConsolePath },
		Playground: playground.New(playground.Options{API: g.Handler, Key: g.Data.PrivateKey, Doors: g.Modules, Now: g.Now}),
	})
	tokens := signin.NewTokenCheck(func() string { return g.token }, g.Now)
	g.pages = console.New(console.Config{
		Operator: g.operator, Directory: g.Directory, Store: g.Store, Tokens: tokens,
		OIDC: g.provider.Load, Dump: func() []byte { return []byte("data: ./data\n") }, Log: g.Log, Now: g.Now,
	})
	g.listener.Config.Handler = admin.Handler(g.operator, admin.Listener{Tokens: tokens, Console: g.pages, Metrics: g.Metrics.Registry()})
	g.listener.Start()
	t.Cleanup(func() { g.pages.Shutdown(); g.listener.Close() })
	return g
}

// A browser is one browser, with its cookies. It follows no redirects.
type browser struct {
	*consoleGate
	client *http.Client
	header http.Header // of every request
}

func (g *consoleGate) browser() *browser {
	g.Helper()
	jar, err := cookiejar.New(nil)
	g.Must(err)
	return &browser{g, &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, http.Header{}}
}

// as returns a browser in which a person with a role has signed in by a link.
func (g *consoleGate) as(role api.Role) *browser {
	g.Helper()
	b := g.browser()
	l, err := g.operator.SignIn.ConsoleLink(g.Context(), signin.ConsoleLinkRequest{Name: "ann-" + string(role), Role: role})
	g.Must(err)
	if got := b.post("/console/link", url.Values{"code": {l.Code}}); got.status != http.StatusSeeOther {
		g.Fatalf("signing in: %d %s", got.status, got.body)
	}
	return b
}

// A pageResponse is a response of the console.
type pageResponse struct {
	status int
	header http.Header
	body   string
}

func (b *browser) send(method, path string, form url.Values) pageResponse {
	b.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(b.Context(), method, b.listener.URL+path, body)
	b.Must(err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.listener.URL)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	maps.Copy(r.Header, b.header)
	if host := b.header.Get("Host"); host != "" {
		r.Host = host
	}
	resp, err := b.client.Do(r)
	b.Must(err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	b.Must(err)
	return pageResponse{resp.StatusCode, resp.Header, string(text)}
}

func (b *browser) get(path string) pageResponse { b.Helper(); return b.send("GET", path, nil) }
func (b *browser) post(path string, form url.Values) pageResponse {
	b.Helper()
	return b.send("POST", path, form)
}

// page requests a page. It fails the test if the page does not exist.
func (b *browser) page(path string) string {
	b.Helper()
	got := b.get(path)
	if got.status != http.StatusOK {
		b.Fatalf("GET %s: %d %s", path, got.status, got.body)
	}
	return got.body
}

var formPattern = regexp.MustCompile(`(?s)<form[^>]* action="([^"]*)"[^>]*>(.*?)</form>`)

var csrfPattern = regexp.MustCompile(`name="csrf" value="([^"]*)"`)

// csrf returns the token of the form for a path on a page, or an empty string if the page does not have the form.
func csrf(page, path string) string {
	for _, m := range formPattern.FindAllStringSubmatch(page, -1) {
		if m[1] == path {
			if t := csrfPattern.FindStringSubmatch(m[2]); t != nil {
				return t[1]
			}
		}
	}
	return ""
}

// submit sends the form for a path, which must be on a page, with further fields.
func (b *browser) submit(on, path string, fields url.Values) pageResponse {
	b.Helper()
	token := csrf(b.page(on), path)
	if token == "" {
		b.Fatalf("%s has no form for %s", on, path)
	}
	form := url.Values{"csrf": {token}}
	maps.Copy(form, fields)
	return b.post(path, form)
}

// confirm sends a form that asks for confirmation, and confirms it.
func (b *browser) confirm(on, path string, fields url.Values) pageResponse {
	b.Helper()
	review := b.submit(on, path, fields)
	if review.status != http.StatusOK || !strings.Contains(review.body, `name="confirmed" value="yes"`) {
		b.Fatalf("%s did not ask for confirmation: %d %s", path, review.status, review.body)
	}
	form := url.Values{"csrf": {csrf(review.body, path)}, "confirmed": {"yes"}}
	maps.Copy(form, fields)
	if strings.Contains(review.body, `name="credential"`) {
		form.Set("credential", adminToken)
	}
	return b.post(path, form)
}

// done fails the test unless the response redirects to the page with the result of an action.
func (b *browser) done(got pageResponse, sentence string) {
	b.Helper()
	to := got.header.Get("Location")
	if got.status != http.StatusSeeOther || !strings.Contains(to, "done=") {
		b.Fatalf("the action was not carried out: %d %s %s", got.status, to, got.body)
	}
	if page := b.page(to); !strings.Contains(page, sentence) {
		b.Errorf("%s does not contain %q:\n%s", to, sentence, page)
	}
}
