package console_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/gateway/record"
)

// token returns the CSRF token of the person in a browser for a path, whether or not the person sees the form.
func (b *browser) token(path string) string {
	b.Helper()
	u, err := url.Parse(b.listener.URL + "/console/")
	b.Must(err)
	mac := hmac.New(sha256.New, []byte(b.client.Jar.Cookies(u)[0].Value))
	mac.Write([]byte("uimgate console form " + path))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func TestSignInByLink(t *testing.T) {
	g := newConsoleGate(t, "")
	l, err := g.operator.SignIn.ConsoleLink(t.Context(), signin.ConsoleLinkRequest{Name: "ann", Role: api.RoleViewer})
	g.Must(err)
	path := strings.TrimPrefix(l.URL, g.listener.URL)
	b := g.browser()
	if got := b.get("/console/agents?status=waiting"); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/console/signin?next=%2Fconsole%2Fagents%3Fstatus%3Dwaiting" {
		t.Errorf("without a session: %d %v", got.status, got.header)
	}
	for range 2 { // programs that look at the link do not use it up
		if page := b.page(path); !strings.Contains(page, l.Code) {
			t.Errorf("the page of the link does not contain the code: %s", page)
		}
	}
	got := b.post("/console/link", url.Values{"code": {l.Code}})
	cookie := got.header.Get("Set-Cookie")
	if got.status != http.StatusSeeOther || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") ||
		!strings.Contains(cookie, "Path=/console/") {
		t.Fatalf("got %d %s", got.status, cookie)
	}
	if page := b.page("/console/"); !strings.Contains(page, "ann") || !strings.Contains(page, "(viewer)") {
		t.Errorf("the page does not show who has signed in: %s", page)
	}
	if got := g.browser().post("/console/link", url.Values{"code": {l.Code}}); got.status != http.StatusForbidden {
		t.Errorf("the link was used twice: %d", got.status)
	}
	late, err := g.operator.SignIn.ConsoleLink(t.Context(), signin.ConsoleLinkRequest{})
	g.Must(err)
	g.Pass(signin.ConsoleLinkTime)
	if got := g.browser().post("/console/link", url.Values{"code": {late.Code}}); got.status != http.StatusForbidden {
		t.Errorf("the link was used after it had expired: %d", got.status)
	}
}

func TestSignInByToken(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.browser()
	wrong := b.post("/console/signin", url.Values{"token": {"wrong"}, "next": {"/console/calls"}})
	if wrong.status != http.StatusUnauthorized || !strings.Contains(wrong.body, `role="alert"`) || wrong.header.Get("Set-Cookie") != "" {
		t.Errorf("got %d %s", wrong.status, wrong.body)
	}
	got := b.post("/console/signin", url.Values{"token": {adminToken}, "next": {"/console/agents?status=waiting"}})
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/console/agents?status=waiting" {
		t.Fatalf("got %d %v", got.status, got.header)
	}
	if page := b.page("/console/"); !strings.Contains(page, "(admin)") {
		t.Errorf("got %s", page)
	}
	if strings.Contains(g.audited.String(), adminToken) {
		t.Error("the audit contains the token")
	}
	g.token = "another-token-0123456789012345"
	if got := b.get("/console/agents"); got.status != http.StatusSeeOther {
		t.Errorf("the session outlived the token: %d", got.status)
	}
	for range 10 {
		wrong = b.post("/console/signin", url.Values{"token": {"wrong"}})
	}
	if wrong.status != http.StatusTooManyRequests {
		t.Errorf("after many wrong tokens: %d", wrong.status)
	}
}

func TestNextLeadsOnlyToThePagesOfTheConsole(t *testing.T) {
	g := newConsoleGate(t, "")
	for next, want := range map[string]string{
		"":                                   "/console/",
		"/console/agents/a%2Fb?service=x":    "/console/agents/a%2Fb?service=x",
		"//evil.example/console/":            "/console/",
		"https://evil.example/console/":      "/console/",
		"/\\evil.example":                    "/console/",
		"/console/\\..\\":                    "/console/",
		"javascript:alert(1)":                "/console/",
		"/admin/v1/status":                   "/console/",
		"/console/signin?next=%2Fconsole%2F": "/console/",
	} {
		got := g.browser().post("/console/signin", url.Values{"token": {adminToken}, "next": {next}})
		if to := got.header.Get("Location"); to != want {
			t.Errorf("next %q leads to %q, want %q", next, to, want)
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	g := newConsoleGate(t, "")
	for name, end := range map[string]func(*browser){
		"by signing out": func(b *browser) { b.submit("/console/", "/console/signout", nil) },
		"when idle":      func(*browser) { g.Pass(30 * time.Minute) },
		"after 12 hours, although in use": func(b *browser) {
			for range 12 * 3 {
				g.Pass(20 * time.Minute)
				b.get("/console/settings")
			}
		},
		"by an administrator": func(*browser) {
			boss := g.as(api.RoleAdmin)
			page := boss.page("/console/settings/sessions")
			for _, m := range formPattern.FindAllStringSubmatch(page, -1) {
				if strings.HasSuffix(m[1], "/end") {
					boss.done(boss.post(m[1], url.Values{"csrf": {csrf(page, m[1])}}), "The session is ended.")
				}
			}
		},
	} {
		b := g.as(api.RoleViewer)
		if got := b.get("/console/settings"); got.status != http.StatusOK {
			t.Errorf("%s: not signed in: %d", name, got.status)
		}
		end(b)
		if got := b.get("/console/settings"); got.status != http.StatusSeeOther {
			t.Errorf("%s: the session has not ended: %d", name, got.status)
		}
	}
}

func TestUseKeepsASession(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleViewer)
	for range 6 {
		g.Pass(20 * time.Minute)
		b.page("/console/settings")
	}
}

func TestForeignRequestsAreRefused(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleAdmin)
	token := csrf(b.page("/console/settings"), "/console/settings/reload")
	for name, c := range map[string]struct {
		header http.Header
		form   url.Values
	}{
		"without a CSRF token":     {form: url.Values{"force": {"yes"}}},
		"with one of another form": {form: url.Values{"csrf": {csrf(b.page("/console/"), "/console/signout")}}},
		"with one of another person": {form: url.Values{"csrf": {csrf(g.as(api.RoleAdmin).page("/console/settings"),
			"/console/settings/reload")}}},
		"from another origin": {
			http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}},
			url.Values{"csrf": {token}},
		},
		"from an opaque origin": {http.Header{"Origin": {"null"}, "Sec-Fetch-Site": {"cross-site"}}, url.Values{"csrf": {token}}},
		"too long":              {form: url.Values{"csrf": {token}, "force": {strings.Repeat("x", 70<<10)}}},
	} {
		b.header = c.header
		if got := b.post("/console/settings/reload", c.form); got.status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	b.header = nil
	b.done(b.post("/console/settings/reload", url.Values{"csrf": {token}}), "The configuration is applied.")
	b.header = http.Header{"Host": {"evil.example"}}
	for _, path := range []string{"/console/", "/console/signin", "/console/assets/style.css", "/"} {
		if got := b.get(path); got.status != http.StatusMisdirectedRequest && got.status != http.StatusForbidden {
			t.Errorf("%s of a foreign host: %d", path, got.status)
		}
	}
}

func TestLinksFromElsewhereOpenThePage(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.browser()
	b.header = http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}}
	got := b.get("/console/agents/agent-1")
	if got.status != http.StatusOK || !strings.Contains(got.body, `content="0;url=/console/agents/agent-1"`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestConsoleIsOff(t *testing.T) {
	g := newConsoleGate(t, "admin: {console: false}\n"+
		"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n")
	for _, path := range []string{"/console/", "/console/signin", "/"} {
		if got := g.browser().get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if _, err := g.operator.SignIn.ConsoleLink(t.Context(), signin.ConsoleLinkRequest{}); err == nil {
		t.Error("a link was made for a console that is off")
	}
}

func TestRolesAndReauthentication(t *testing.T) {
	g := newConsoleGate(t, "")
	g.Agreed("agent-1")
	const page, block = "/console/agents/agent-1", "/console/agents/agent-1/block"
	viewer := g.as(api.RoleViewer)
	if text := viewer.page(page); strings.Contains(text, block) {
		t.Error("a viewer sees the form that blocks")
	}
	operator := g.as(api.RoleOperator)
	if strings.Contains(operator.page(page), "/top-up") {
		t.Error("an operator sees the form that gives credit")
	}
	g.Pass(5 * time.Minute) // since both signed in
	review := operator.submit(page, block, url.Values{"reason": {"it <b>loops</b>"}})
	if review.status != http.StatusOK || !strings.Contains(review.body, "it &lt;b&gt;loops") || !strings.Contains(review.body,
		`name="credential"`) {
		t.Fatalf("got %d %s", review.status, review.body)
	}
	form := url.Values{"csrf": {csrf(review.body, block)}, "confirmed": {"yes"}, "reason": {"it loops"}}
	forged := url.Values{"csrf": form["csrf"], "confirmed": {"yes"}}
	if got := viewer.post(block, forged); got.status != http.StatusForbidden {
		t.Errorf("a viewer with the form of an operator: %d", got.status)
	}
	for _, credential := range []string{"", "wrong"} {
		form.Set("credential", credential)
		if got := operator.post(block, form); got.status != http.StatusForbidden || !strings.Contains(got.body, `role="alert"`) {
			t.Errorf("credential %q: %d", credential, got.status)
		}
	}
	weak, err := g.operator.SignIn.ConsoleLink(t.Context(), signin.ConsoleLinkRequest{Role: api.RoleViewer})
	g.Must(err)
	form.Set("credential", weak.Code)
	if got := operator.post(block, form); got.status != http.StatusForbidden {
		t.Errorf("the code of a viewer: %d", got.status)
	}
	if a, err := admin.Call(t.Context(), g.operator, operation.Agent, api.Record{ID: "agent-1"}); err != nil || a.Status != "active" {
		t.Fatalf("the agent was blocked: %+v, %v", a, err)
	}
	code, err := g.operator.SignIn.ConsoleLink(t.Context(), signin.ConsoleLinkRequest{Role: api.RoleOperator})
	g.Must(err)
	form.Set("credential", code.Code)
	operator.done(operator.post(block, form), "The agent is blocked.")
	if !strings.Contains(g.audited.String(), `"by":"ann-operator","detail":{"reason":"it loops"},`+
		`"did":"POST /agents/{id}/block","role":"operator",`+
		`"subject":"agent-1","via":"link"`) {
		t.Errorf("the audit does not name who did it: %s", g.audited.String())
	}
	got := viewer.post(block, url.Values{"csrf": {viewer.token(block)}, "confirmed": {"yes"}, "credential": {adminToken}})
	if got.status != http.StatusForbidden || !strings.Contains(got.body, "Your role does not allow this") {
		t.Errorf("a viewer with a valid form of an operator: %d %s", got.status, got.body)
	}
}

func TestSignInsLeaveATrace(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.browser()
	b.post("/console/signin", url.Values{"token": {"wrong-canary"}})
	b.post("/console/link", url.Values{"code": {"wrong-canary"}})
	b.post("/console/signin", url.Values{"token": {adminToken}})
	viewer := g.as(api.RoleViewer)
	page := b.page("/console/settings/sessions")
	for _, m := range formPattern.FindAllStringSubmatch(page, -1) {
		if strings.HasSuffix(m[1], "/end") {
			b.done(b.post(m[1], url.Values{"csrf": {csrf(page, m[1])}}), "The session is ended.")
			if got := b.post(m[1], url.Values{"csrf": {csrf(page, m[1])}}); got.status != http.StatusNotFound {
				t.Errorf("a session was ended twice: %d", got.status)
			}
		}
	}
	if got := viewer.get("/console/settings"); got.status != http.StatusSeeOther {
		t.Errorf("the session has not ended: %d", got.status)
	}
	b.submit("/console/", "/console/signout", nil)

	var got []record.ChangeLine
	for line := range strings.Lines(g.audited.String()) {
		var l record.Line
		g.Must(json.Unmarshal([]byte(line), &l))
		if strings.HasPrefix(l.Change.Did, "sign") && l.RequestID == "" {
			t.Errorf("no request id: %s", line)
		}
		got = append(got, *l.Change)
	}
	want := []record.ChangeLine{
		{By: "operator", Role: "admin", Via: "token", Did: "sign in", Address: "127.0.0.1"},
		{By: "ann-viewer", Role: "viewer", Via: "link", Did: "sign in", Address: "127.0.0.1"},
		{By: "operator", Role: "admin", Via: "token", Did: "POST /console/sessions/{id}/end", Subject: "ann-viewer as viewer"},
		{By: "operator", Role: "admin", Via: "token", Did: "sign out", Address: "127.0.0.1"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the audit differs (-want +got):\n%s", d)
	}
	refused := g.Logs.FilterMessage("console sign-in refused").All()
	if len(refused) != 2 {
		t.Fatalf("%d refused sign-ins are in the log, want 2", len(refused))
	}
	for _, e := range refused {
		if f := e.ContextMap(); e.Level != zap.WarnLevel || f["address"] != "127.0.0.1" || strings.Contains(fmt.Sprint(f), "canary") {
			t.Errorf("got %v %v", e.Level, f)
		}
	}
}
