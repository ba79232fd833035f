package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// everyPage lists the pages that do not show a single record.
var everyPage = []string{
	"/console/", "/console/agents", "/console/agreements", "/console/calls", "/console/money", "/console/money/calls",
	"/console/money/payments",
	"/console/money/statements", "/console/money/invoices", "/console/money/refunds", "/console/money/ledger", "/console/catalogue",
	"/console/catalogue/curation",
	"/console/policy", "/console/policy/edit", "/console/doors", "/console/doors/try",
	tryPath + "?intent=" + gatetest.Ordering, "/console/stops", "/console/settings", "/console/settings/keys", "/console/settings/sessions",
	"/console/settings/reloads",
}

const maxPage = 150_000

func TestEveryPageInEveryRole(t *testing.T) {
	g := newConsoleGate(t, "")
	a := g.Agreed("agent-1")
	request := g.Execute(a, gatetest.Ordering).Header.Get("UIM-Request-ID")
	agreements, err := admin.Call(t.Context(), g.operator, operation.Agreements, agreements.AgreementQuery{})
	g.Must(err)
	executions, err := admin.Call(t.Context(), g.operator, operation.Executions, calls.UsageQuery{})
	g.Must(err)
	pages := append([]string{
		"/console/agents/agent-1", "/console/agreements/" + string(agreements.Items[0].ID), "/console/calls/" + request,
		"/console/money/calls/" + executions.Items[0].ID,
	}, everyPage...)
	styled := regexp.MustCompile(`<style|style=|<script[^>]*>[^<]|\son\w+=`)
	for _, role := range api.Roles {
		b := g.as(role)
		for _, path := range pages {
			got := b.get(path)
			if got.status != http.StatusOK || len(got.body) > maxPage || !strings.Contains(got.body, "</html>") {
				t.Errorf("%s as %s: %d, %d bytes", path, role, got.status, len(got.body))
			}
			if found := styled.FindString(got.body); found != "" {
				t.Errorf("%s has what its Content-Security-Policy forbids: %q", path, found)
			}
			if csp := got.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
				t.Errorf("%s: %q", path, csp)
			}
			for _, m := range regexp.MustCompile(`href="(/console/[^"]*)"`).FindAllStringSubmatch(got.body, -1) {
				to := strings.ReplaceAll(m[1], "&amp;", "&")
				if role != api.RoleAdmin || strings.HasPrefix(to, "/console/assets/") {
					continue
				}
				if linked := b.get(to); linked.status != http.StatusOK {
					t.Errorf("%s links to %s: %d", path, to, linked.status)
				}
			}
		}
	}
}

func TestLinksToMissingRecords(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleAdmin)
	for _, path := range []string{
		"/console/agents/nobody", "/console/agreements/x", "/console/money/calls/x", "/console/nothing", "/console/agents/a/b/c",
		"/console/agents?service=unknown", "/console/assets/page.html",
	} {
		if got := b.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/console/agents?limit=1000000000", "/console/agents?limit=-1", "/console/agents?status=x&approved=y"} {
		if got := b.get(path); got.status != http.StatusOK {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if got := b.get("/console/agreements?after=%00%ff"); got.status != http.StatusBadRequest {
		t.Errorf("an invalid cursor: %d", got.status)
	}
}

func TestAgentActions(t *testing.T) {
	g := newConsoleGate(t, approval)
	a, _ := g.Agree("agent-1")
	b := g.as(api.RoleAdmin)
	const page = "/console/agents/agent-1"
	if text := b.page("/console/"); !regexp.MustCompile(`data-figure="waiting_agents">1<`).MatchString(text) {
		t.Error("the overview does not show the agent that waits")
	}
	if text := b.page("/console/agents?status=waiting"); !strings.Contains(text, page) {
		t.Errorf("the list of waiting agents lacks the agent: %s", text)
	}
	b.done(b.submit(page, page+"/approve", nil), "The agent is approved.")
	g.AgreeAgain(a)
	b.done(b.submit(page, page+"/name", url.Values{"name": {"Ann & Co"}}), "Ann &amp; Co")
	b.done(b.confirm(page, page+"/stop", url.Values{"reason": {"it loops"}}), "The agent is stopped.")
	g.Refuses(g.Execute(a, gatetest.Searching), http.StatusServiceUnavailable, "STOPPED")
	b.done(b.confirm(page, page+"/resume", nil), "The agent can make calls again.")
	if got := g.Execute(a, gatetest.Searching); got.Status != http.StatusOK {
		t.Errorf("after the stop: %d %s", got.Status, got.Body)
	}
	b.done(b.confirm(page, page+"/block", url.Values{"reason": {"it loops"}}), "it loops")
	b.done(b.submit(page, page+"/unblock", nil), "no longer blocked")
	credit := url.Values{"amount": {"10 EUR"}, "reference": {"wire-1"}}
	b.done(b.confirm(page, page+"/top-up", credit), "10.00")
	b.done(b.confirm(page, page+"/top-up", credit), "10.00") // a form that is sent twice changes nothing
	accounts, err := admin.Call(t.Context(), g.operator, operation.Accounts, billing.AccountQuery{})
	if err != nil || len(accounts.Items) != 1 || accounts.Items[0].Balance != "10.00" {
		t.Errorf("accounts %+v, %v", accounts, err)
	}
	other, _ := g.Agree("agent-2")
	move := url.Values{"to": {string(other.ID)}, "amount": {"4 EUR"}, "reference": {"move-1"}, "reason": {"paid in for the wrong agent"}}
	b.done(b.confirm(page, page+"/move", move), "6.00")
	b.done(b.confirm(page, page+"/move", move), "6.00")
	if got := b.confirm(page, page+"/move", url.Values{"to": {string(other.ID)}, "amount": {"7 EUR"}, "reference": {"move-2"}, "reason": {"x"}}); got.status !=
		http.StatusConflict {
		t.Errorf("more than the agent has: %d", got.status)
	}
	buyer := url.Values{"name": {"Ann"}, "line1": {"1 Road"}, "line2": {"Paris"}, "country": {"FR"}}
	b.done(b.submit(page, page+"/buyer", buyer), `value="1 Road"`)
	if got := b.submit(page, page+"/buyer", url.Values{"name": {"Ann"}}); got.status != http.StatusBadRequest {
		t.Errorf("a buyer without an address: %d", got.status)
	}
	if got := b.confirm(page, page+"/invoice", url.Values{"month": {"next"}}); got.status != http.StatusBadRequest {
		t.Errorf("an invoice for an invalid month: %d %s", got.status, got.body)
	}
	if got := b.confirm(page, page+"/keys", url.Values{"jkt": {"short"}}); got.status != http.StatusBadRequest {
		t.Errorf("an invalid key: %d", got.status)
	}
	if n := strings.Count(g.audited.String(), `"by":"ann-admin"`); n < 9 {
		t.Errorf("%d changes in the audit: %s", n, g.audited.String())
	}
}

func TestWhyACallWasRefused(t *testing.T) {
	g := newConsoleGate(t, "")
	a := g.Agreed("agent-1")
	refused := g.Call("/api/intents/execute", a.Token, map[string]any{"intent_uid": "shop.example:nothing:v1", "parameters": map[string]any{}})
	id := refused.Header.Get("UIM-Request-ID")
	b := g.as(api.RoleViewer)
	found := b.get("/console/calls?request=" + id)
	if found.status != http.StatusSeeOther || found.header.Get("Location") != "/console/calls/"+id {
		t.Fatalf("got %d %v", found.status, found.header)
	}
	page := b.page("/console/calls/" + id)
	for _, want := range []string{"Why it was refused", "agent-1", "resolve", "Steps"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	if list := b.page("/console/calls?decision=deny"); !strings.Contains(list, id) {
		t.Errorf("the list lacks the request: %s", list)
	}
	if list := b.page("/console/calls?decision=permit&agent=agent-1"); strings.Contains(list, id) {
		t.Error("the filter was ignored")
	}
}

func TestMoneyActions(t *testing.T) {
	g := newConsoleGate(t, "")
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering)
	b := g.as(api.RoleBilling)
	charged, err := admin.Call(t.Context(), g.operator, operation.Executions, calls.UsageQuery{State: store.Captured})
	g.Must(err)
	page := "/console/money/calls/" + charged.Items[0].ID
	refund := url.Values{"amount": {"0.10 EUR"}, "reason": {"late"}, "name": {"console-1"}}
	b.done(b.confirm(page, page+"/refund", refund), "CN-000001")
	b.done(b.confirm(page, page+"/refund", refund), "CN-000001")
	if got := b.confirm(page, page+"/refund", url.Values{"amount": {"9 EUR"}, "reason": {"late"}}); got.status != http.StatusConflict {
		t.Errorf("a refund of more than the charge: %d %s", got.status, got.body)
	}
	if text := b.page("/console/money/refunds"); strings.Count(text, ">CN-00000") != 1 {
		t.Errorf("refunds: %s", text)
	}

	g.BreakOff()
	g.Execute(a, gatetest.Ordering)
	g.Pass(time.Hour)
	_, err = g.Store.Sweep(t.Context())
	g.Must(err)
	unknown, err := admin.Call(t.Context(), g.operator, operation.Executions, calls.UsageQuery{State: store.Unresolved})
	g.Must(err)
	if len(unknown.Items) != 1 {
		t.Fatalf("%d calls of unknown outcome", len(unknown.Items))
	}
	page = "/console/money/calls/" + unknown.Items[0].ID
	b = g.as(api.RoleBilling)
	first, second := b.page(page), b.page(page) // two tabs
	if csrf(first, page+"/resolve") == "" || csrf(second, page+"/resolve") == "" {
		t.Fatalf("the page has no form to resolve the call: %s", first)
	}
	b.done(b.confirm(page, page+"/resolve", url.Values{"state": {"released"}}), "released")
	late := b.post(page+"/resolve", url.Values{"csrf": {csrf(second, page+"/resolve")}, "confirmed": {"yes"}, "state": {"captured"}})
	if late.status != http.StatusConflict {
		t.Errorf("the second tab: %d %s", late.status, late.body)
	}
}

func TestKillSwitch(t *testing.T) {
	g := newConsoleGate(t, "")
	a := g.Agreed("agent-1")
	b := g.as(api.RoleOperator)
	stop := url.Values{"kind": {"intent"}, "subject": {gatetest.Searching}, "scope": {"every"}, "reason": {"<b>leak</b>"}}
	b.done(b.confirm("/console/stops", "/console/stops/stop", stop), "&lt;b&gt;leak")
	g.Refuses(g.Execute(a, gatetest.Searching), http.StatusServiceUnavailable, "STOPPED")
	if stops := g.View.Stops(); len(stops) != 1 || stops[0].Kind != pat.StopIntent || stops[0].Service != "" || stops[0].By != "ann-operator" {
		t.Errorf("got %+v", stops)
	}
	b.done(b.confirm("/console/stops", "/console/stops/resume", url.Values{
		"kind": {"intent"}, "subject": {gatetest.Searching},
		"scope": {"every"},
	}),
		"Nothing is stopped.")
	if got := g.Execute(a, gatetest.Searching); got.Status != http.StatusOK {
		t.Errorf("after the stop: %d", got.Status)
	}
	wrong := b.confirm("/console/stops", "/console/stops/stop", url.Values{"kind": {"agent"}, "subject": {"agent-2"}})
	if wrong.status != http.StatusNotFound || !strings.Contains(wrong.body, "no such agent") {
		t.Errorf("a stop of a misspelt agent: %d %s", wrong.status, wrong.body)
	}
}

func TestCSV(t *testing.T) {
	g := newConsoleGate(t, "")
	g.Agreed("=agent")
	g.Agreed("agent-2")
	got := g.as(api.RoleViewer).get("/console/agents?format=csv&limit=1")
	lines := strings.Split(strings.TrimSpace(got.body), "\n")
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/csv; charset=utf-8" || len(lines) != 3 ||
		lines[0] != "Agent,Name,Status,Approved,Since" || !strings.HasPrefix(lines[1], "'=agent,") {
		t.Errorf("got %d %v\n%s", got.status, got.header, got.body)
	}
}

func TestPagesOfAListing(t *testing.T) {
	g := newConsoleGate(t, "")
	for _, id := range []string{"a1", "a2", "a3"} {
		g.Agreed(id)
	}
	b := g.as(api.RoleViewer)
	page := b.page("/console/agents?limit=2")
	next := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(page)
	if next == nil || strings.Contains(page, "/console/agents/a3") {
		t.Fatalf("got %s", page)
	}
	page = b.page(strings.ReplaceAll(next[1], "&amp;", "&"))
	if !strings.Contains(page, "/console/agents/a3") || strings.Contains(page, "/console/agents/a2") {
		t.Errorf("got %s", page)
	}
}

func TestCanaries(t *testing.T) {
	const canary = `<script>alert(1)</script>"'\u202e\u0007`
	g := newConsoleGate(t, "", func(g *gatetest.Gate) {
		g.Write("agents.json", strings.ReplaceAll(gatetest.AgentsFile, `"Search."`, `"Search. `+strings.ReplaceAll(canary, `"`, `\"`)+`"`))
	})
	id := `<img src=x onerror=alert(1)>"'&`
	a := g.Agreed(strings.ReplaceAll(id, " ", "/"))
	g.Execute(a, gatetest.Ordering)
	b := g.as(api.RoleAdmin)
	for _, path := range append([]string{"/console/agents/" + url.PathEscape(strings.ReplaceAll(id, " ", "/"))}, everyPage...) {
		text := b.page(path)
		for _, bad := range []string{"<script>alert", "<img", "\u202e", "\a"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s contains %q", path, bad)
			}
		}
	}
	if text := b.page("/console/catalogue"); !strings.Contains(text, "⟨U+202E⟩") || !strings.Contains(text, "⟨U+0007⟩") {
		t.Errorf("the catalogue hides characters: %s", text)
	}
}

func TestDecideAgain(t *testing.T) {
	g := newConsoleGate(t, "")
	a := g.Agreed("agent-1")
	id := g.Execute(a, gatetest.Ordering).Header.Get("UIM-Request-ID")
	b := g.as(api.RoleViewer)
	page, path := "/console/calls/"+id, "/console/calls/"+id+"/decide"
	if text := b.page(page); !strings.Contains(text, "https://shop.example/policy/1") {
		t.Errorf("the form does not contain the policy: %s", text)
	}
	same := b.submit(page, path, url.Values{})
	if same.status != http.StatusOK || !strings.Contains(same.body, "The gateway made the same decision.") || !strings.Contains(same.body,
		"0.25 EUR") {
		t.Errorf("got %d %s", same.status, same.body)
	}
	dearer := strings.Replace(gatetest.PolicyFile, `"amount": "0.25"`, `"amount": "0.75"`, 1)
	if got := b.submit(page, path, url.Values{"policy": {dearer}}); got.status != http.StatusOK || !strings.Contains(got.body, "0.75 EUR") {
		t.Errorf("a dearer policy: %d %s", got.status, got.body)
	}
	research := strings.Replace(gatetest.PolicyFile, `"duty"`,
		`"constraint": [{"leftOperand": "purpose", "operator": "eq", "rightOperand": "research"}], "duty"`, 1)
	denied := b.submit(page, path, url.Values{"policy": {research}})
	if denied.status != http.StatusOK || !strings.Contains(denied.body, ">deny<") || !strings.Contains(denied.body, "unsatisfied") {
		t.Errorf("a policy with a constraint: %d %s", denied.status, denied.body)
	}
	permitted := b.submit(page, path, url.Values{"policy": {research}, "facts": {"purpose = research\n"}})
	if permitted.status != http.StatusOK || !strings.Contains(permitted.body, ">permit<") {
		t.Errorf("with the fact: %d %s", permitted.status, permitted.body)
	}
	if got := b.submit(page, path, url.Values{"policy": {"{"}}); got.status != http.StatusBadRequest &&
		got.status != http.StatusUnprocessableEntity {
		t.Errorf("an invalid policy: %d %s", got.status, got.body)
	}
	if strings.Contains(g.audited.String(), "/decide") {
		t.Error("a question is in the audit as a change")
	}
}

func TestKeysAndSessionsAreDownloaded(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleViewer)
	for path, want := range map[string][2]string{
		"/console/settings/keys":     {"Key,Purpose,Algorithm,Process,Signs,Since,Ends\n", string(g.Keys.Current()) + ",PATs,EdDSA,"},
		"/console/settings/sessions": {"Name,Role,By,Since,Expires if unused\n", " (you),viewer,"},
	} {
		if page := b.page(path); !strings.Contains(page, `<a href="`+path+`?format=csv">`) {
			t.Errorf("%s has no link to its CSV: %s", path, page)
		}
		got := b.get(path + "?format=csv")
		if got.status != http.StatusOK || !strings.HasPrefix(got.body, want[0]) || strings.Count(got.body, want[1]) != 1 {
			t.Errorf("%s: %d, %q; want %q and one row with %q", path, got.status, got.body, want[0], want[1])
		}
	}
}
