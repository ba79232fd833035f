package console_test

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

// furnished is a gateway with content on every page, with hostile names and descriptions.
func furnished(t *testing.T) (g *consoleGate, pages []string) {
	t.Helper()
	const hostile = `<img src=x onerror=alert(1)>\"'\u202e`
	g = newConsoleGate(t, approval, func(g *gatetest.Gate) {
		g.Write("agents.json", strings.ReplaceAll(gatetest.AgentsFile, `"Search."`, `"Search. `+hostile+`"`))
	})
	b := g.as(api.RoleAdmin)
	shop, _ := g.Agree("shopper")
	const agent = "/console/agents/shopper"
	b.done(b.submit(agent, agent+"/approve", nil), "approved")
	g.AgreeAgain(shop)
	b.done(b.submit(agent, agent+"/name", url.Values{"name": {`<b>Ann</b> "& Co"`}}), "saved")
	b.done(b.confirm(agent, agent+"/top-up", url.Values{"amount": {"20 EUR"}, "reference": {"wire-1"}}), "20.00")
	request := g.Execute(shop, gatetest.Ordering).Header.Get("UIM-Request-ID")
	refused := g.Call("/api/intents/execute", shop.Token, map[string]any{"intent_uid": "shop.example:nothing:v1"}).Header.Get("UIM-Request-ID")
	charged, err := admin.Call(t.Context(), g.operator, operation.Executions, calls.UsageQuery{State: store.Captured})
	g.Must(err)
	g.BreakOff()
	g.Execute(shop, gatetest.Ordering)
	g.Later(time.Hour)
	_, err = g.Store.Sweep(t.Context())
	g.Must(err)
	unknown, err := admin.Call(t.Context(), g.operator, operation.Executions, calls.UsageQuery{State: store.Unresolved})
	g.Must(err)
	g.Call("/api/intents/execute", shop.Token, map[string]any{"intent_uid": gatetest.Searching}) // in the last hour
	g.Agree("waiting<script>")
	agreements, err := admin.Call(t.Context(), g.operator, operation.Agreements, agreements.AgreementQuery{AgentID: "shopper"})
	g.Must(err)
	g.Write("openapi.curation.yaml", curationText)
	g.Must(g.Audit.Flush())
	return g, append([]string{
		curationPath + "/operation?key=order", "/console/agreements/" + string(agreements.Items[0].ID) + "?verify=yes",
		agent, "/console/agents/waiting%3Cscript%3E", "/console/agreements/" + string(agreements.Items[0].ID), "/console/calls/" + request,
		"/console/calls/" + refused, "/console/money/calls/" + charged.Items[0].ID, "/console/money/calls/" + unknown.Items[0].ID,
	}, everyPage...)
}

func TestEveryPageInABrowser(t *testing.T) {
	t.Parallel()
	ctx := chromium(t)
	g, pages := furnished(t)
	library := axe(t)
	b := g.tab(ctx)
	check := func(page string) {
		for _, a := range appearances {
			b.appear(a)
			name := fmt.Sprintf("%s %d %s", page, a.width, a.scheme)
			b.accessible(library, name, a.rules)
			file := strings.Trim(strings.NewReplacer("/console/", "", "/", "-", "%", "").Replace(name), "- ")
			b.picture(strings.ReplaceAll(file, " ", "_"))
		}
	}
	b.open("/console/signin")
	check("signin")
	b.signIn(api.RoleAdmin)
	for _, path := range pages {
		b.open(path)
		check(path)
	}
	b.open("/console/policy/edit")
	b.press(`form[action="/console/policy/impact"]`, map[string]string{
		"policy": strings.Replace(gatetest.PolicyFile, `"amount": "0.25"`, `"amount": "0.75"`, 1),
	})
	check("impact")
	b.open(curationPath + "/operation?key=order")
	b.press(`form[action="`+curationPath+`/impact"]`, map[string]string{"price": "0.75 EUR", "description": "Orders tea."})
	check("curation impact")
	b.open(tryPath + "?intent=" + gatetest.Ordering)
	b.press(`form[action="`+callPath+`"]`, map[string]string{"p.product": "tea"})
	check("try result")
	b.open("/console/agents/shopper")
	b.press(`form[action="/console/agents/shopper/block"]`, map[string]string{"reason": "a review"})
	check("review")
	if local := evaluate[int](b, `(location.href, document.querySelectorAll('.local').length)`); local != 0 {
		t.Errorf("the review has %d local times", local)
	}
	b.open("/console/agents")
	if local := evaluate[int](b, `document.querySelectorAll('time + .local').length`); local != 2 {
		t.Errorf("%d times have the local one beside them, want 2", local)
	}
	for _, problem := range b.problems {
		t.Errorf("the browser reported: %s", problem)
	}
}

// TestEveryButton presses each button of each page in each role, and compares the audit with what the role allows.
func TestEveryButton(t *testing.T) {
	t.Parallel()
	chromium(t)
	// Values for the forms. Forms whose values no gateway accepts are refused, and change nothing.
	fields := map[string]string{
		"amount": "0.01 EUR", "reason": "browser", "name": "Browser", "line1": "1 Road", "country": "FR", "subject": gatetest.Searching,
		"month": "none", "jkt": "none", "reference": "none", "purpose": "", "to": "none",
	}
	refused := []string{"/invoice", "/keys", "/move", "/payments/resolve"}
	for _, role := range api.Roles {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			g, pages := furnished(t)
			b := g.presser(role, slices.Contains(clicking, role))
			pressed := 0
			for _, path := range pages {
				for tried := map[string]bool{}; ; {
					forms := b.forms(path)
					i := slices.IndexFunc(forms, func(f string) bool { return !tried[f] })
					if i < 0 {
						break
					}
					form := forms[i]
					tried[form] = true
					before := g.audited.Len()
					values := fields
					is := func(suffix string) bool { return strings.Contains(form, suffix+`"`) }
					switch {
					case is("/refund"), is("/top-up"):
						values = map[string]string{"amount": "0.01 EUR", "reason": "browser"}
					case is("/stops/stop") && strings.Contains(form, `"agent"`):
						values = map[string]string{"subject": "shopper"}
					case is("/stops/stop"), is("/resume"), is("/decide"):
						values = map[string]string{}
					}
					b.show(path)
					b.confirmed(form, values)
					pressed++
					line := g.audited.String()[before:]
					status := b.status()
					failed := slices.ContainsFunc(refused, is)
					switch changed := strings.Contains(line, `"by":"ann-`+string(role)+`"`); {
					case failed && (changed || line != ""):
						t.Errorf("%s: it was carried out: %s", form, line)
					case is("/decide"):
						if !strings.Contains(b.text(), "The decision") {
							t.Errorf("%s: %s", form, status)
						}
					case is("/curation/impact"):
						if !strings.Contains(b.text(), "What would change") {
							t.Errorf("%s: %s", form, status)
						}
					case is("/policy/impact"):
						if !strings.Contains(b.text(), "means the same") {
							t.Errorf("%s: %s", form, status)
						}
					case !failed && !changed && !is("/end"):
						t.Errorf("%s on %s: nothing was changed: %s", form, path, status)
					}
				}
			}
			want := map[api.Role]int{api.RoleViewer: 3, api.RoleOperator: 28, api.RoleBilling: 11, api.RoleAdmin: 35}[role]
			if pressed < want || role == api.RoleViewer && pressed > 3 {
				t.Errorf("%d buttons were pressed, want at least %d", pressed, want)
			}
			t.Logf("%d buttons", pressed)
		})
	}
}

// Every page works without JavaScript.
func TestWithoutJavaScript(t *testing.T) {
	t.Parallel()
	ctx := chromium(t)
	g, _ := furnished(t)
	b := g.tab(ctx)
	command(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.signIn(api.RoleAdmin)
	b.open("/console/agents?status=waiting")
	b.do(chromedp.Click(chromedp.CSS("tbody a")), chromedp.WaitVisible(chromedp.CSS(`form[action$="/approve"]`)),
		chromedp.Click(chromedp.CSS(`form[action$="/approve"] button`)), chromedp.WaitVisible(chromedp.CSS(".done")))
	a, err := admin.Call(t.Context(), g.operator, operation.Agent, api.Record{ID: "waiting<script>"})
	if err != nil || a.Status != "active" {
		t.Errorf("got %+v, %v", a, err)
	}
	b.open("/console/stops")
	form := `form[action="/console/stops/stop"]`
	b.do(chromedp.Click(chromedp.CSS(form+" button")), chromedp.WaitVisible(chromedp.CSS(`input[name=confirmed] ~ p button`)),
		chromedp.Click(chromedp.CSS(`input[name=confirmed] ~ p button`)), chromedp.WaitVisible(chromedp.CSS(".done")))
	if stops := g.View.Stops(); len(stops) != 1 || stops[0].Kind != "charging" {
		t.Errorf("got %+v", stops)
	}
	b.open("/console/")
	text := evaluate[string](b, `document.querySelector('main').innerText`)
	if !strings.Contains(text, "Stops in force") || !strings.Contains(text, "UTC") {
		t.Errorf("the overview: %s", text)
	}
}

// The figures of an open page follow the gateway.
func TestFiguresFollowInABrowser(t *testing.T) {
	t.Parallel()
	ctx := chromium(t)
	g, _ := furnished(t)
	b := g.tab(ctx)
	b.signIn(api.RoleViewer)
	b.do(chromedp.WaitVisible(`//span[@data-figure="waiting_agents"][text()="1"]`))
	g.Agree("another")
	g.Pass(time.Minute)
	b.do(chromedp.WaitVisible(`//span[@data-figure="waiting_agents"][text()="2"]`))
}

// A policy passes through three forms of a browser, which changes the ends of lines, before it reaches the file.
func TestSaveAPolicyInABrowser(t *testing.T) {
	t.Parallel()
	ctx := chromium(t)
	g, _ := furnished(t)
	b := g.tab(ctx)
	b.signIn(api.RoleAdmin)
	b.open(editPath)
	edited := dearer + "\n"
	b.press(`form[action="`+impactPath+`"]`, map[string]string{"policy": edited})
	b.press(`form[action="`+savePath+`"]`, map[string]string{})
	b.press(`form[action="`+savePath+`"]`, map[string]string{}) // the review
	if title := b.status(); title != "The policy is saved" {
		t.Errorf("the page has the title %q", title)
	}
	if text, err := os.ReadFile(g.Path("policy.json")); err != nil || string(text) != edited {
		t.Errorf("the file is %q, %v", text, err)
	}
	b.open(editPath)
	if text := evaluate[string](b, `document.querySelector('textarea').value`); text != edited {
		t.Errorf("the form has %q", text)
	}
}
