package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	chromiumtest "github.com/uimgate/uimgate/internal/test/chromium"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

// browserTime is the maximum duration of one test in a browser.
const browserTime = 4 * time.Minute

// chromium starts a real browser.
func chromium(t *testing.T) context.Context {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(chromiumtest.Path(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("lang", "en-GB"))
	ctx, cancel := context.WithTimeout(t.Context(), browserTime)
	t.Cleanup(cancel)
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(end)
	ctx, closed := chromedp.NewContext(ctx)
	t.Cleanup(closed)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// A tab is one tab of a real browser, in which a person has signed in.
type tab struct {
	*consoleGate
	ctx      context.Context //nolint:containedctx // chromedp identifies a tab by its context
	mu       sync.Mutex
	problems []string // what the browser reported, such as violations of the Content-Security-Policy
}

// tab opens a tab with separate cookies.
func (g *consoleGate) tab(ctx context.Context) *tab {
	g.Helper()
	own, closed := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	g.Cleanup(closed)
	b := &tab{consoleGate: g, ctx: own}
	g.Must(chromedp.Listen(own, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.note(e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork { // a refused form is not an error
				b.note(e.Entry.Text)
			}
		case *page.EventJavascriptDialogOpening:
			b.note("a script ran: " + e.Message)
		}
	}))
	command(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "America/New_York"})
	return b
}

func (b *tab) note(problem string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, problem)
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	b.Must(chromedp.Do(b.ctx, actions...))
}

// command sends a command of the protocol to a tab.
func command[P, R any](b *tab, c cdp.Command[P, R], p P) {
	b.Helper()
	_, err := chromedp.Call(b.ctx, c, p)
	b.Must(err)
}

func (b *tab) open(path string) { b.Helper(); b.do(chromedp.Navigate(b.listener.URL + path)) }

// signIn signs a person in by pressing the button of a link.
func (b *tab) signIn(role api.Role) {
	b.Helper()
	l, err := b.operator.SignIn.ConsoleLink(b.Context(), signin.ConsoleLinkRequest{Name: "ann-" + string(role), Role: role})
	b.Must(err)
	b.do(chromedp.Navigate(l.URL), chromedp.Click(chromedp.CSS("main button")), chromedp.WaitVisible(chromedp.CSS("nav")))
}

func evaluate[T any](b *tab, script string, options ...chromedp.EvaluateOption) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, options...))
	b.Must(err)
	return v
}

// press presses the button of a form, which is given as a selector, after it has filled in the fields, and waits for the next page.
func (b *tab) press(form string, fields map[string]string) {
	b.Helper()
	data, err := json.Marshal(fields)
	b.Must(err)
	found := evaluate[bool](b, fmt.Sprintf(`(() => {
		const f = document.querySelector(%q); if (!f) return false
		for (const [name, value] of Object.entries(%s)) { const e = f.elements[name]; if (e) e.value = value }
		document.documentElement.dataset.old = '1'; return true })()`, form, data))
	if !found {
		b.Fatalf("the page has no form %s", form)
	}
	b.do(chromedp.Click(chromedp.CSS(form+" button")), chromedp.WaitReady(chromedp.CSS("html:not([data-old]) main")))
}

// confirmed presses the button of a form and, if the console asks for it, confirms.
func (b *tab) confirmed(form string, fields map[string]string) {
	b.Helper()
	b.press(form, fields)
	if evaluate[bool](b, `!!document.querySelector('input[name=confirmed]')`) {
		b.press(form, map[string]string{"credential": adminToken})
	}
}

// status returns the text about the last action: its result, or the title of a problem.
func (b *tab) status() string {
	b.Helper()
	return evaluate[string](b, `(document.querySelector('.done, .problem') || document.querySelector('h1')).textContent`)
}

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
	charged, err := g.operator.Calls.Executions(t.Context(), calls.UsageQuery{State: store.Captured})
	g.Must(err)
	g.BreakOff()
	g.Execute(shop, gatetest.Ordering)
	g.Later(time.Hour)
	_, err = g.Store.Sweep(t.Context())
	g.Must(err)
	unknown, err := g.operator.Calls.Executions(t.Context(), calls.UsageQuery{State: store.Unresolved})
	g.Must(err)
	g.Call("/api/intents/execute", shop.Token, map[string]any{"intent_uid": gatetest.Searching}) // in the last hour
	g.Agree("waiting<script>")
	agreements, err := g.operator.Agreements.Agreements(t.Context(), agreements.AgreementQuery{AgentID: "shopper"})
	g.Must(err)
	g.Write("openapi.curation.yaml", curationText)
	g.Must(g.Audit.Flush())
	return g, append([]string{
		curationPath + "/operation?key=order", "/console/agreements/" + string(agreements.Items[0].ID) + "?verify=yes",
		agent, "/console/agents/waiting%3Cscript%3E", "/console/agreements/" + string(agreements.Items[0].ID), "/console/calls/" + request,
		"/console/calls/" + refused, "/console/money/calls/" + charged.Items[0].ID, "/console/money/calls/" + unknown.Items[0].ID,
	}, everyPage...)
}

// axe returns the source of axe-core, which make clients installs, or an empty string.
func axe(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("testdata/node/node_modules/axe-core/axe.min.js")
	if err != nil && os.Getenv("UIMGATE_REQUIRE_BROWSER") != "" {
		t.Fatal("axe-core is missing: run make clients")
	}
	if err != nil {
		t.Log("SKIPPED: axe-core is missing, so the accessibility was not checked: run make clients")
	}
	return string(source)
}

// accessible checks the accessibility of the page with axe-core, unless library is empty, and its width.
func (b *tab) accessible(library, name string) {
	b.Helper()
	if library != "" {
		evaluate[bool](b, library+";true")
		found := evaluate[string](b, `axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' ')).join('\n'))`,
			chromedp.EvalAwaitPromise)
		if found != "" {
			b.Errorf("%s: axe-core found %s", name, found)
		}
	}
	if wide := evaluate[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
		b.Errorf("%s is %d pixels wider than the window", name, wide)
	}
}

func TestEveryPageInABrowser(t *testing.T) {
	ctx := chromium(t)
	g, pages := furnished(t)
	library := axe(t)
	b := g.tab(ctx)
	check := func(name string) {
		b.accessible(library, name)
		file := strings.Trim(strings.NewReplacer("/console/", "", "/", "-", "%", "").Replace(name), "- ")
		b.picture(strings.ReplaceAll(file, " ", "_"))
	}
	signedIn := false
	for _, width := range []int64{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.do(chromedp.EmulateViewport(width, 800))
			command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			if !signedIn {
				b.open("/console/signin")
				check(fmt.Sprintf("signin %d %s", width, scheme))
				b.signIn(api.RoleAdmin)
				signedIn = true
			}
			for _, path := range pages {
				b.open(path)
				check(fmt.Sprintf("%s %d %s", path, width, scheme))
			}
			b.open("/console/policy/edit")
			b.press(`form[action="/console/policy/impact"]`, map[string]string{
				"policy": strings.Replace(gatetest.PolicyFile, `"amount": "0.25"`, `"amount": "0.75"`, 1),
			})
			check(fmt.Sprintf("impact %d %s", width, scheme))
			b.open(curationPath + "/operation?key=order")
			b.press(`form[action="`+curationPath+`/impact"]`, map[string]string{"price": "0.75 EUR", "description": "Orders tea."})
			check(fmt.Sprintf("curation impact %d %s", width, scheme))
			b.open(tryPath + "?intent=" + gatetest.Ordering)
			b.press(`form[action="`+callPath+`"]`, map[string]string{"p.product": "tea"})
			check(fmt.Sprintf("try result %d %s", width, scheme))
			b.open("/console/agents/shopper")
			b.press(`form[action="/console/agents/shopper/block"]`, map[string]string{"reason": "a review"})
			check(fmt.Sprintf("review %d %s", width, scheme))
		}
	}
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
	ctx := chromium(t)
	// Values for the forms. Forms whose values no gateway accepts are refused, and change nothing.
	fields := map[string]string{
		"amount": "0.01 EUR", "reason": "browser", "name": "Browser", "line1": "1 Road", "country": "FR", "subject": gatetest.Searching,
		"month": "none", "jkt": "none", "reference": "none", "purpose": "", "to": "none",
	}
	refused := []string{"/invoice", "/keys", "/move", "/payments/resolve"}
	for _, role := range api.Roles {
		t.Run(string(role), func(t *testing.T) {
			g, pages := furnished(t) //nolint:contextcheck // a test
			b := g.tab(ctx)
			b.signIn(role) //nolint:contextcheck // it has the context of the tab
			pressed := 0
			for _, path := range pages {
				for tried := map[string]bool{}; ; {
					b.open(path)
					forms := evaluate[[]string](b, `[...document.querySelectorAll('main form[method=post]')].map(f =>
						'form[action="' + f.getAttribute('action') + '"]' + (f.elements.kind ?
							':has([name=kind][value="' + f.elements.kind.value + '"])' : ''))`)
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
					b.confirmed(form, values)
					pressed++
					line := g.audited.String()[before:]
					status := b.status()
					failed := slices.ContainsFunc(refused, is)
					switch changed := strings.Contains(line, `"by":"ann-`+string(role)+`"`); {
					case failed && (changed || line != ""):
						t.Errorf("%s: it was carried out: %s", form, line)
					case is("/decide"):
						if !strings.Contains(evaluate[string](b, `document.body.innerText`), "The decision") {
							t.Errorf("%s: %s", form, status)
						}
					case is("/curation/impact"):
						if !strings.Contains(evaluate[string](b, `document.body.innerText`), "What would change") {
							t.Errorf("%s: %s", form, status)
						}
					case is("/policy/impact"):
						if !strings.Contains(evaluate[string](b, `document.body.innerText`), "means the same") {
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
	ctx := chromium(t)
	g, _ := furnished(t)
	b := g.tab(ctx)
	command(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.signIn(api.RoleAdmin)
	b.open("/console/agents?status=waiting")
	b.do(chromedp.Click(chromedp.CSS("tbody a")), chromedp.WaitVisible(chromedp.CSS(`form[action$="/approve"]`)),
		chromedp.Click(chromedp.CSS(`form[action$="/approve"] button`)), chromedp.WaitVisible(chromedp.CSS(".done")))
	a, err := g.operator.Agreements.Agent(t.Context(), api.Record{ID: "waiting<script>"})
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
