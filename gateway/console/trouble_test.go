package console_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/gateway/console"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// Wrong tokens of an address hold back further tokens, but not codes, which cannot be guessed.
func TestCodesWorkAfterWrongTokens(t *testing.T) {
	g := newConsoleGate(t, "")
	g.Agreed("agent-1")
	b := g.as(api.RoleOperator)
	const page, block = "/console/agents/agent-1", "/console/agents/agent-1/block"
	form := url.Values{"csrf": {csrf(b.page(page), block)}, "confirmed": {"yes"}}
	g.Pass(5 * time.Minute)
	other := g.browser()
	for range 10 {
		other.post("/console/signin", url.Values{"token": {"wrong"}})
	}
	if got := other.post("/console/signin", url.Values{"token": {adminToken}}); got.status != http.StatusTooManyRequests {
		t.Errorf("the token: %d", got.status)
	}
	code, err := g.operator.SignIn.ConsoleLink(t.Context(), signin.ConsoleLinkRequest{Role: api.RoleOperator})
	g.Must(err)
	form.Set("credential", code.Code)
	b.done(b.post(block, form), "The agent is blocked.")
	g.as(api.RoleViewer)
}

// A wrong credential counts once, whether the console or the admin API receives it.
func TestWrongTokensAreCountedTogether(t *testing.T) {
	g := newConsoleGate(t, "")
	g.Agreed("agent-1")
	b := g.as(api.RoleOperator)
	const page, block = "/console/agents/agent-1", "/console/agents/agent-1/block"
	form := url.Values{"csrf": {csrf(b.page(page), block)}, "confirmed": {"yes"}, "credential": {"wrong"}}
	g.Pass(5 * time.Minute)
	for i := range 4 {
		if got := b.post(block, form); !strings.Contains(got.body, "neither the admin token nor a code") {
			t.Errorf("attempt %d: %d %s", i, got.status, got.body)
		}
	}
	b.header = http.Header{"Authorization": {"Bearer wrong"}}
	if got := b.get("/admin/v1/status"); got.status != http.StatusUnauthorized {
		t.Errorf("the fifth attempt: %d", got.status)
	}
	b.header.Set("Authorization", "Bearer "+adminToken)
	if got := b.get("/admin/v1/status"); got.status != http.StatusTooManyRequests {
		t.Errorf("after five attempts: %d", got.status)
	}
}

func TestStreamsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*consoleGate, *browser){
		"sign-out":    func(_ *consoleGate, b *browser) { b.submit("/console/", "/console/signout", nil) },
		"the session": func(g *consoleGate, _ *browser) { g.Pass(time.Hour) },
		"a configuration without a console": func(g *consoleGate, _ *browser) {
			text, err := os.ReadFile(g.Path("uimgate.yaml"))
			g.Must(err)
			g.Write("uimgate.yaml", "admin: {console: false}\n"+string(text))
			g.Reload()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newConsoleGate(t, "")
			b := g.as(api.RoleViewer)
			stream := b.follow(t.Context())
			end(g, b)
			g.Pass(time.Minute)
			if _, err := io.Copy(io.Discard, stream.Body); err != nil { // returns when the stream ends
				t.Error(err)
			}
		})
	}
}

// The agent's page resumes the stop that it shows, and the review names its scope.
func TestResumeNamesItsScope(t *testing.T) {
	g := newConsoleGate(t, "")
	g.Agreed("agent-1")
	_, err := g.operator.Processes.Stop(t.Context(), processes.StopRequest{Kind: pat.StopAgent, Subject: "agent-1", By: "ann"})
	g.Must(err)
	b := g.as(api.RoleOperator)
	const page, resume = "/console/agents/agent-1", "/console/agents/agent-1/resume"
	text := b.page(page)
	if !strings.Contains(text, `name="scope" value="every"`) {
		t.Fatalf("the form does not have the scope: %s", text)
	}
	review := b.submit(page, resume, url.Values{"scope": {"every"}})
	if !strings.Contains(review.body, "<dt>Scope</dt><dd>every</dd>") {
		t.Errorf("the review does not show the scope: %s", review.body)
	}
	// Meanwhile somebody stops the agent at this service only.
	_, err = g.operator.Processes.Stop(
		t.Context(),
		processes.StopRequest{Service: "default", Kind: pat.StopAgent, Subject: "agent-1", By: "bob"},
	)
	g.Must(err)
	b.done(b.confirm(page, resume, url.Values{"scope": {"every"}}), "The agent can make calls again.")
	stops, err := g.operator.Processes.Stops(t.Context(), processes.StopQuery{})
	if err != nil || len(stops.Items) != 1 || stops.Items[0].By != "bob" {
		t.Errorf("the stops in force are %+v, %v", stops.Items, err)
	}
}

// Pages stay small with many intents and rules.
func TestPagesOfLargeServices(t *testing.T) {
	g := newConsoleGate(t, "", func(g *gatetest.Gate) {
		many := strings.Builder{}
		for i := range 3000 {
			fmt.Fprintf(&many, `{"intent_uid": "shop.example:extra-%d:v1", "intent_name": "Extra", "description": "Extra.",
				"endpoint": {"url": "https://shop.example/extra", "method": "GET"}},`, i)
		}
		g.Write("agents.json", strings.Replace(gatetest.AgentsFile, `"intents": [`, `"intents": [`+many.String(), 1))
	})
	b := g.as(api.RoleOperator)
	for _, path := range everyPage {
		if got := b.get(path); got.status != http.StatusOK || len(got.body) > maxPage {
			t.Errorf("%s: %d, %d bytes", path, got.status, len(got.body))
		}
	}
	b.done(
		b.confirm("/console/stops", "/console/stops/stop", url.Values{"kind": {"intent"}, "subject": {"shop.example:extra-7:v1"}}),
		"It is stopped.",
	)
}

func TestRequestsOfNoService(t *testing.T) {
	g := newConsoleGate(t, "")
	g.Must(g.Index.Flush(t.Context()))
	id := g.Call("/api/nothing-there", "", map[string]any{}).Header.Get("UIM-Request-ID")
	b := g.as(api.RoleViewer)
	if page := b.page("/console/calls?scope=every"); !strings.Contains(page, id) {
		t.Errorf("the list of all services lacks the request %s: %s", id, page)
	}
}

// away is a console whose store is closed.
func (g *consoleGate) away() *httptest.Server {
	g.Helper()
	gone, err := sqlstore.Open(g.Context(), filepath.Join(g.TempDir(), "state.db"), sqlstore.Options{Now: g.Now})
	g.Must(err)
	g.Must(gone.Close())
	pages := console.New(console.Config{
		Operator: g.operator, Directory: g.Directory, Store: gone, Tokens: signin.NewTokenCheck(func() string { return g.token }, g.Now),
		Log: g.Log, Now: g.Now,
	})
	s := httptest.NewServer(pages)
	g.Cleanup(s.Close)
	return s
}

func TestTheStoreIsAway(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleAdmin)
	u, err := url.Parse(g.listener.URL + "/console/")
	g.Must(err)
	cookie := b.client.Jar.Cookies(u)[0]
	s := g.away()
	ask := func(method, path string, form url.Values) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(form.Encode()))
		g.Must(err)
		r.Host = u.Host // of the cookie
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(cookie)
		resp, err := http.DefaultClient.Do(r)
		g.Must(err)
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		g.Must(err)
		return resp.StatusCode, string(text)
	}
	for _, path := range everyPage {
		if status, text := ask("GET", path, nil); status != http.StatusServiceUnavailable ||
			!strings.Contains(text, "The store cannot be reached") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	for path, form := range map[string]url.Values{
		"/console/settings/reload": {}, "/console/signin": {"token": {adminToken}},
		"/console/link": {"code": {strings.Repeat("x", 22)}},
	} {
		if status, text := ask("POST", path, form); status != http.StatusServiceUnavailable ||
			!strings.Contains(text, "The store cannot be reached") {
			t.Errorf("POST %s: %d %s", path, status, text)
		}
	}
	for _, path := range []string{"/console/signin", "/console/assets/style.css"} {
		if status, _ := ask("GET", path, nil); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// Forms that a person sends again, from another tab, by the back button or twice, do no harm.
func TestFormsThatAreSentAgain(t *testing.T) {
	g := newConsoleGate(t, approval)
	g.Agree("agent-1")
	b := g.as(api.RoleAdmin)
	const page = "/console/agents/agent-1"
	first := b.page(page)
	form := func(verb string, fields url.Values) url.Values {
		out := url.Values{"csrf": {csrf(first, page+"/"+verb)}, "confirmed": {"yes"}}
		maps.Copy(out, fields)
		return out
	}
	for range 2 { // the second from another tab, which shows an agent that waits
		b.done(b.post(page+"/approve", form("approve", nil)), "The agent is approved.")
	}
	for range 2 {
		b.done(b.post(page+"/block", form("block", url.Values{"reason": {"loops"}})), "The agent is blocked.")
	}
	stop := form("stop", nil)
	for range 2 {
		b.done(b.post(page+"/stop", stop), "The agent is stopped.")
	}
	stops, err := g.operator.Processes.Stops(t.Context(), processes.StopQuery{})
	if err != nil || len(stops.Items) != 1 {
		t.Errorf("%d stops in force, %v", len(stops.Items), err)
	}
	resume := url.Values{"csrf": {b.token(page + "/resume")}, "confirmed": {"yes"}}
	b.done(b.post(page+"/resume", resume), "The agent can make calls again.")
	if got := b.post(page+"/resume", resume); got.status != http.StatusNotFound || !strings.Contains(got.body, "Nothing was changed") {
		t.Errorf("resuming what is not stopped: %d %s", got.status, got.body)
	}
	// The back button shows pages again after the person has signed out.
	b.submit("/console/", "/console/signout", nil)
	if got := b.post(page+"/unblock", form("unblock", nil)); got.status != http.StatusSeeOther ||
		!strings.HasPrefix(got.header.Get("Location"), "/console/signin") {
		t.Errorf("a form after the sign-out: %d %v", got.status, got.header)
	}
	if a, err := admin.Call(t.Context(), g.operator, operation.Agent, api.Record{ID: "agent-1"}); err != nil || a.Status != pat.AgentBlocked {
		t.Errorf("got %+v, %v", a, err)
	}
}

// Two gateways on one machine share the cookies of a browser, but not their sessions.
func TestCookiesOfAnotherGateway(t *testing.T) {
	one, two := newConsoleGate(t, ""), newConsoleGate(t, "")
	b := one.as(api.RoleAdmin)
	u, err := url.Parse(one.listener.URL + "/console/")
	one.Must(err)
	cookie := b.client.Jar.Cookies(u)[0]
	stranger := two.browser()
	home, err := url.Parse(two.listener.URL + "/console/")
	two.Must(err)
	stranger.client.Jar.SetCookies(home, []*http.Cookie{{Name: cookie.Name, Value: cookie.Value, Path: "/console/"}})
	if got := stranger.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("the cookie of another gateway: %d", got.status)
	}
	mine := two.as(api.RoleViewer)
	name := mine.client.Jar.Cookies(home)[0].Name
	if name == cookie.Name {
		t.Error("the cookies of two gateways have the same name")
	}
	mine.client.Jar.SetCookies(home, []*http.Cookie{{Name: name, Value: cookie.Value, Path: "/console/"}})
	if got := mine.get("/console/"); got.status != http.StatusSeeOther {
		t.Errorf("the secret of another gateway: %d", got.status)
	}
}

// A thousand tabs get a stream or a refusal, and the pages keep working.
func TestAThousandTabs(t *testing.T) {
	g := newConsoleGate(t, "")
	var people []*browser
	for range 10 {
		people = append(people, g.as(api.RoleViewer))
	}
	ctx, cancel := context.WithCancel(t.Context())
	open, refused := 0, 0
	for i := range 1000 {
		switch resp := people[i%10].follow(ctx); resp.StatusCode {
		case http.StatusOK:
			open++
		case http.StatusTooManyRequests:
			refused++
			_ = resp.Body.Close()
		default:
			t.Fatalf("tab %d: %d", i, resp.StatusCode)
		}
	}
	if open != 64 || refused != 936 {
		t.Errorf("%d streams are open, and %d were refused", open, refused)
	}
	people[0].page("/console/")
	cancel()
	people[0].page("/console/calls")
}

// Sessions survive a restart of the process, with the role that they began with.
func TestSessionsSurviveARestart(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleOperator)
	g.listener.Config.Handler = admin.Handler(g.operator, admin.Listener{
		Metrics: g.Metrics.Registry(), Console: console.New(console.Config{
			Operator: g.operator, Directory: g.Directory, Store: g.Store, Tokens: signin.NewTokenCheck(func() string { return g.token }, g.Now),
			Log: g.Log, Now: g.Now,
		}),
	})
	if page := b.page("/console/"); !strings.Contains(page, "(operator)") {
		t.Errorf("got %s", page)
	}
}
