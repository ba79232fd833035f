package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/internal/oidc"
	oidctest "github.com/uimgate/uimgate/internal/test/oidc"
)

// An oidcGate is a gateway whose operators sign in through an identity provider.
type oidcGate struct {
	*consoleGate
	at      *oidctest.Provider
	options oidc.Options
}

func newOIDCGate(t *testing.T) *oidcGate {
	t.Helper()
	g := &oidcGate{consoleGate: newConsoleGate(t, "")}
	g.at = oidctest.Start(t, g.Now)
	redirect, err := url.Parse(g.listener.URL + "/console/oidc")
	g.Must(err)
	g.at.Redirects = []string{redirect.String(), g.listener.URL + "/console/signin"}
	g.options = oidc.Options{
		Issuer: g.at.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Redirect: redirect, Now: g.Now,
		Roles: []oidc.Role{{Name: "viewer", Values: []string{"staff"}}, {Name: "operator", Values: []string{"ops"}}},
	}
	g.configure()
	return g
}

// configure replaces the identity provider with one with the present options.
func (g *oidcGate) configure() { g.provider.Store(oidc.New(g.options)) }

// groups sets the groups of the person who signs in at the provider.
func (g *oidcGate) groups(groups ...string) {
	g.at.Do(func() {
		g.at.Person = oidctest.Person{Subject: "person-1", Claims: map[string]any{"email": "ann@shop.example", "groups": groups}}
	})
}

// back returns the path and query with which the provider sends a browser back that began at path.
func (g *oidcGate) back(b *browser, path string) string {
	g.Helper()
	got := b.get(path)
	to := got.header.Get("Location")
	if got.status != http.StatusSeeOther || !strings.HasPrefix(to, g.at.URL) {
		g.Fatalf("%s leads to %q: %d %s", path, to, got.status, got.body)
	}
	return strings.TrimPrefix(g.at.SignIn(to), g.listener.URL)
}

// signedIn returns a browser in which the person has signed in.
func (g *oidcGate) signedIn() *browser {
	g.Helper()
	b := g.browser()
	if got := b.get(g.back(b, "/console/oidc/start")); got.status != http.StatusOK || !strings.Contains(got.body, "0;url=/console/") {
		g.Fatalf("signing in: %d %s", got.status, got.body)
	}
	return b
}

func TestSignInThroughAProvider(t *testing.T) {
	g := newOIDCGate(t)
	g.groups("ops")
	b := g.browser()
	page := b.page("/console/signin?next=%2Fconsole%2Fagents")
	const start = "/console/oidc/start?next=%2Fconsole%2Fagents"
	if !strings.Contains(page, `href="`+start+`"`) || !strings.Contains(page, "Sign in at 127.0.0.1:") {
		t.Errorf("the page does not link to the provider: %s", page)
	}
	sent := b.get(start)
	cookie := sent.header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Lax", "Path=/console/oidc"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie of the sign-in lacks %s: %s", want, cookie)
		}
	}
	got := b.get(strings.TrimPrefix(g.at.SignIn(sent.header.Get("Location")), g.listener.URL))
	cookies := strings.Join(got.header.Values("Set-Cookie"), "\n")
	if got.status != http.StatusOK || !strings.Contains(got.body, `content="0;url=/console/agents"`) ||
		!strings.Contains(cookies, "SameSite=Strict") || !strings.Contains(cookies, "Max-Age=0") {
		t.Errorf("got %d %s %s", got.status, cookies, got.body)
	}
	if page := b.page("/console/"); !strings.Contains(page, "ann@shop.example") || !strings.Contains(page, "(operator)") {
		t.Errorf("the page does not show who has signed in: %s", page)
	}
	out := b.submit("/console/", "/console/signout", nil)
	if out.status != http.StatusOK || !strings.Contains(out.body, "You are signed out") ||
		!strings.Contains(out.body, g.at.URL+"/logout?client_id=") {
		t.Errorf("signing out: %d %s", out.status, out.body)
	}
	if got := b.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("the session has not ended: %d", got.status)
	}
	g.changes([]record.ChangeLine{
		{By: "ann@shop.example", Role: "operator", Via: "oidc", Did: "sign in", Subject: "person-1", Address: "127.0.0.1"},
		{By: "ann@shop.example", Role: "operator", Via: "oidc", Did: "sign out", Address: "127.0.0.1"},
	})
}

// changes compares the changes in the audit stream.
func (g *oidcGate) changes(want []record.ChangeLine) {
	g.Helper()
	var got []record.ChangeLine
	for line := range strings.Lines(g.audited.String()) {
		var l record.Line
		g.Must(json.Unmarshal([]byte(line), &l))
		got = append(got, *l.Change)
	}
	if d := cmp.Diff(want, got); d != "" {
		g.Errorf("the audit differs (-want +got):\n%s", d)
	}
}

func TestPeopleWithoutARoleAreRefused(t *testing.T) {
	g := newOIDCGate(t)
	g.groups("guests")
	b := g.browser()
	got := b.get(g.back(b, "/console/oidc/start"))
	if got.status != http.StatusForbidden || !strings.Contains(got.body, "You have no role at this gateway.") ||
		strings.Contains(strings.Join(got.header.Values("Set-Cookie"), ""), "uimgate_console_") {
		t.Errorf("got %d %v %s", got.status, got.header, got.body)
	}
	if got := b.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("the person is signed in: %d", got.status)
	}
	g.changes([]record.ChangeLine{{By: "ann@shop.example", Via: "oidc", Did: "sign in refused", Subject: "person-1", Address: "127.0.0.1"}})
}

func TestSignInsThatAreNotValid(t *testing.T) {
	g := newOIDCGate(t)
	for name, mint := range map[string]func(jwt.MapClaims){
		"another nonce":    func(c jwt.MapClaims) { c["nonce"] = "x" },
		"another audience": func(c jwt.MapClaims) { c["aud"] = "other" },
		"expired":          func(c jwt.MapClaims) { c["exp"] = g.Now().Add(-time.Second).Unix() },
	} {
		g.at.Do(func() { g.at.Mint = mint })
		b := g.browser()
		if got := b.get(g.back(b, "/console/oidc/start")); got.status != http.StatusForbidden || !strings.Contains(got.body, `role="alert"`) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	g.at.Do(func() { g.at.Mint = nil })
	first, second := g.browser(), g.browser()
	path := g.back(first, "/console/oidc/start")
	g.back(second, "/console/oidc/start")
	for name, b := range map[string]*browser{"another browser": second, "a browser that began nothing": g.browser()} {
		if got := b.get(path); got.status != http.StatusForbidden {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	cookies := first.client.Jar.Cookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(g.listener.URL, "http://"), Path: "/console/oidc"})
	if got := first.get(path); got.status != http.StatusOK {
		t.Errorf("the browser that began it: %d %s", got.status, got.body)
	}
	first.client.Jar.SetCookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(g.listener.URL, "http://"), Path: "/console/oidc"}, cookies)
	if got := first.get(path); got.status != http.StatusForbidden {
		t.Errorf("the same response again: %d", got.status)
	}
	if log := g.Logs.FilterMessage("console sign-in refused").Len(); log != 6 {
		t.Errorf("%d refused sign-ins are in the log, want 6", log)
	}
	long := g.browser()
	if got := long.get("/console/oidc?code=" + strings.Repeat("x", 20<<10)); got.status != http.StatusForbidden {
		t.Errorf("a very long response: %d", got.status)
	}
}

func TestTheProviderIsAway(t *testing.T) {
	g := newOIDCGate(t)
	g.at.Do(func() { g.at.Away = true })
	b := g.browser()
	for _, path := range []string{"/console/oidc/start", "/console/signin"} {
		if got := b.get(path); !strings.Contains(got.body, "The identity provider cannot be reached.") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := b.post("/console/signin", url.Values{"token": {adminToken}}); got.status != http.StatusSeeOther {
		t.Errorf("the token: %d %s", got.status, got.body)
	}
	g.at.Do(func() { g.at.Away = false })
	g.Pass(5 * time.Second)
	g.signedIn()
	if page := g.browser().page("/console/signin"); strings.Contains(page, "cannot be reached") {
		t.Error("the page still reports that the provider is away")
	}
}

func TestSessionsOfAProviderEnd(t *testing.T) {
	for name, end := range map[string]func(*oidcGate, *browser){
		"when the roles are changed": func(g *oidcGate, _ *browser) { g.options.Roles = g.options.Roles[1:]; g.configure() },
		"with the provider":          func(g *oidcGate, _ *browser) { g.provider.Store(nil) },
		"when idle":                  func(g *oidcGate, _ *browser) { g.Pass(30 * time.Minute) },
		"after 12 hours, although in use": func(g *oidcGate, b *browser) {
			for range 12 * 3 {
				g.Pass(20 * time.Minute)
				b.get("/console/settings")
			}
		},
	} {
		g := newOIDCGate(t)
		b := g.signedIn()
		g.configure() // the same options
		if got := b.get("/console/settings"); got.status != http.StatusOK {
			t.Errorf("%s: not signed in: %d", name, got.status)
		}
		end(g, b)
		if got := b.get("/console/settings"); got.status != http.StatusSeeOther {
			t.Errorf("%s: the session has not ended: %d", name, got.status)
		}
	}
}

func TestRolesAreTakenAway(t *testing.T) {
	g := newOIDCGate(t)
	g.groups("ops")
	b := g.signedIn()
	g.groups("staff")
	if page := b.page("/console/"); !strings.Contains(page, "(operator)") {
		t.Error("the session has lost its role before the next sign-in")
	}
	if got := b.get(g.back(b, "/console/oidc/start?again=yes")); got.status != http.StatusForbidden ||
		!strings.Contains(got.body, "Your role has changed.") {
		t.Errorf("proving again: %d %s", got.status, got.body)
	}
	if got := b.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("the session has not ended: %d", got.status)
	}
	b = g.signedIn()
	if page := b.page("/console/"); !strings.Contains(page, "(viewer)") {
		t.Errorf("the next sign-in: %s", page)
	}
	g.groups("guests")
	b.get(g.back(b, "/console/oidc/start?again=yes"))
	if got := b.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("the session of a person without a role has not ended: %d", got.status)
	}
}

func TestProvingAgainThroughAProvider(t *testing.T) {
	g := newOIDCGate(t)
	g.Agreed("agent-1")
	g.groups("ops")
	b := g.signedIn()
	const page, block = "/console/agents/agent-1", "/console/agents/agent-1/block"
	const again = "/console/oidc/start?again=yes"
	g.Pass(6 * time.Minute)
	review := b.submit(page, block, url.Values{"reason": {"it loops"}})
	if !strings.Contains(review.body, `href="`+again+`" target="_blank"`) || strings.Contains(review.body, "required") {
		t.Fatalf("the review does not link to the provider: %s", review.body)
	}
	form := url.Values{"csrf": {csrf(review.body, block)}, "confirmed": {"yes"}, "reason": {"it loops"}}
	refused := func(name string, want int) {
		t.Helper()
		if got := b.get(g.back(b, again)); got.status != want {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		if got := b.post(block, form); got.status != http.StatusForbidden {
			t.Errorf("%s: the form: %d", name, got.status)
		}
	}
	g.at.Do(func() { g.at.Mint = func(c jwt.MapClaims) { c["auth_time"] = g.Now().Add(-6 * time.Minute).Unix() } })
	refused("an authentication that is too old", http.StatusForbidden)
	g.at.Do(func() { g.at.Mint = func(c jwt.MapClaims) { delete(c, "auth_time") } })
	refused("a provider that does not report it", http.StatusForbidden)
	g.at.Do(func() { g.at.Mint = func(c jwt.MapClaims) { c["sub"] = "person-2" } })
	refused("another person", http.StatusForbidden)
	g.at.Do(func() { g.at.Mint = nil })
	if got := b.get(g.back(b, again)); got.status != http.StatusOK || !strings.Contains(got.body, "You have proved who you are") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	b.done(b.post(block, form), "The agent is blocked.")
	if !strings.Contains(
		g.audited.String(),
		`"by":"ann@shop.example","detail":{"reason":"it loops"},"did":"POST /agents/{id}/block","role":"operator"`,
	) {
		t.Errorf("the audit does not name who did it: %s", g.audited.String())
	}
	if got := g.as(api.RoleOperator).get(again); got.status != http.StatusNotFound {
		t.Errorf("a session of a link: %d", got.status)
	}
	if got := g.browser().get(again); got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/console/signin") {
		t.Errorf("no session: %d", got.status)
	}
}

// A browser that is still signed in at the provider proves nothing about who uses it now.
func TestSignInWithoutAnAuthenticationIsNoProof(t *testing.T) {
	for name, mint := range map[string]func(jwt.MapClaims, time.Time){
		"an old one":     func(c jwt.MapClaims, now time.Time) { c["auth_time"] = now.Add(-time.Hour).Unix() },
		"none":           func(c jwt.MapClaims, _ time.Time) { delete(c, "auth_time") },
		"a negative one": func(c jwt.MapClaims, _ time.Time) { c["auth_time"] = -5 },
	} {
		g := newOIDCGate(t)
		g.Agreed("agent-1")
		g.groups("ops")
		g.at.Do(func() { g.at.Mint = func(c jwt.MapClaims) { mint(c, g.Now()) } })
		review := g.signedIn().submit("/console/agents/agent-1", "/console/agents/agent-1/block", nil)
		if !strings.Contains(review.body, `name="credential"`) {
			t.Errorf("%s: the console does not ask for a proof: %s", name, review.body)
		}
	}
}

func TestConsoleAtAnotherAddressThanItsRedirect(t *testing.T) {
	g := newOIDCGate(t)
	b := g.browser()
	b.header = http.Header{"Host": {"localhost:8081"}}
	got := b.get("/console/oidc/start?next=%2Fconsole%2Fcalls")
	want := g.listener.URL + "/console/oidc/start?moved=yes&next=%2Fconsole%2Fcalls"
	if got.status != http.StatusSeeOther || got.header.Get("Location") != want {
		t.Errorf("got %d %s, want %s", got.status, got.header.Get("Location"), want)
	}
	if got := b.get("/console/oidc/start?moved=yes"); got.status != http.StatusMisdirectedRequest && got.status != http.StatusForbidden {
		t.Errorf("a second time: %d %s", got.status, got.body)
	}
}

func TestWithoutAProvider(t *testing.T) {
	g := newConsoleGate(t, "")
	if page := g.browser().page("/console/signin"); strings.Contains(page, "oidc") {
		t.Errorf("the page links to a provider: %s", page)
	}
	for _, path := range []string{"/console/oidc", "/console/oidc/start", "/console/oidc?code=1&state=2"} {
		if got := g.browser().get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

// A person signs in at the provider, blocks an agent after signing in again in another tab, and signs out of both.
func TestProviderInABrowser(t *testing.T) {
	t.Parallel()
	ctx := chromium(t)
	g := newOIDCGate(t)
	g.Agreed("agent-1")
	g.groups("ops")
	b := g.tab(ctx)
	library := axe(t)
	b.open("/console/agents/agent-1")
	b.accessible(library, "the sign-in", nil)
	b.picture("oidc-signin")
	b.do(chromedp.Click(chromedp.CSS(`a.button`)), chromedp.WaitVisible(chromedp.CSS("#login")),
		chromedp.Click(chromedp.CSS("#login")), chromedp.WaitVisible(chromedp.CSS("nav")))
	if path := evaluate[string](b, `location.pathname`); path != "/console/agents/agent-1" {
		t.Errorf("the person sees %s", path)
	}
	g.Pass(6 * time.Minute)
	const form = `form[action="/console/agents/agent-1/block"]`
	b.press(form, map[string]string{"reason": "it loops"})
	b.accessible(library, "the review", nil)
	b.picture("oidc-review")
	again := evaluate[string](b, `document.querySelector('a[target=_blank]').href`)
	other := &tab{consoleGate: g.consoleGate}
	own, closed := chromedp.NewContext(b.ctx)
	t.Cleanup(closed)
	other.ctx = own
	other.do(chromedp.Navigate(again), chromedp.WaitVisible(chromedp.CSS("#login")), chromedp.Click(chromedp.CSS("#login")),
		chromedp.WaitVisible(`//h1[text()="You have proved who you are"]`))
	other.accessible(library, "the notice", nil)
	b.press(form, map[string]string{})
	if status := b.status(); status != "The agent is blocked." {
		t.Errorf("got %q", status)
	}
	b.do(chromedp.Click(chromedp.CSS("form.who button")), chromedp.WaitVisible(`//h1[text()="You are signed out"]`),
		chromedp.Click(chromedp.CSS("main a")), chromedp.WaitVisible(chromedp.CSS("#token")))
	b.do(chromedp.Click(chromedp.CSS(`a.button`)), chromedp.WaitVisible(chromedp.CSS("#login")))
	for _, problem := range b.problems {
		t.Errorf("the browser reported: %s", problem)
	}
}
