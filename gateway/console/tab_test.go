package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	chromiumtest "github.com/uimgate/uimgate/internal/test/chromium"
)

// browserTime is the maximum duration of one test in a browser.
const browserTime = 4 * time.Minute

// All tests share one browser. Each tab has its own cookies.
var (
	startShared sync.Once
	shared      context.Context // nil: no test has started the browser
	endShared   = func() {}
	errShared   error // of the start
)

func TestMain(m *testing.M) {
	code := m.Run()
	endShared()
	os.Exit(code)
}

// chromium returns the context of the shared browser, and starts it the first time.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path := chromiumtest.Path(t)
	startShared.Do(func() {
		options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path))
		for _, flag := range chromiumtest.Flags() {
			name, value, found := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
			if found {
				options = append(options, chromedp.Flag(name, value))
			} else {
				options = append(options, chromedp.Flag(name, true))
			}
		}
		allocator, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
		ctx, closed := chromedp.NewContext(allocator)
		shared, endShared = ctx, func() { closed(); end() } //nolint:fatcontext // it is set once
		errShared = chromedp.Do(ctx)
	})
	if errShared != nil {
		t.Fatal(errShared)
	}
	return shared
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
	ctx, cancel := context.WithTimeout(ctx, browserTime)
	g.Cleanup(cancel)
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

// click clicks a button, and waits until the next page has loaded.
func (b *tab) click(selector string) {
	b.Helper()
	_, err := chromedp.RunResponse(b.ctx, chromedp.Click(chromedp.CSS(selector)))
	b.Must(err)
}

// signIn signs a person in by pressing the button of a link.
func (b *tab) signIn(role api.Role) {
	b.Helper()
	l, err := b.operator.SignIn.ConsoleLink(b.Context(), signin.ConsoleLinkRequest{Name: "ann-" + string(role), Role: role})
	b.Must(err)
	b.do(chromedp.Navigate(l.URL))
	b.click("main button")
	b.do(chromedp.WaitVisible(chromedp.CSS("nav")))
}

func evaluate[T any](b *tab, script string, options ...chromedp.EvaluateOption) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, options...))
	b.Must(err)
	return v
}

// forms returns the selectors of the forms of a page that change something. It does not show the page.
func (b *tab) forms(path string) []string {
	b.Helper()
	return evaluate[[]string](b, fmt.Sprintf(`fetch(%q).then(r => r.text()).then(text =>
		[...new DOMParser().parseFromString(text, 'text/html').querySelectorAll('main form[method=post]')].map(f =>
			'form[action="' + f.getAttribute('action') + '"]' + (f.elements.kind ?
				':has([name=kind][value="' + f.elements.kind.value + '"])' : '')))`, path), chromedp.EvalAwaitPromise)
}

// show opens a page unless the tab shows it.
func (b *tab) show(path string) {
	b.Helper()
	if evaluate[string](b, `location.pathname`) != path {
		b.open(path)
	}
}

// press presses the button of a form, which is given as a selector, after it has filled in the fields, and waits for the next page.
func (b *tab) press(form string, fields map[string]string) {
	b.Helper()
	data, err := json.Marshal(fields)
	b.Must(err)
	found := evaluate[bool](b, fmt.Sprintf(`(() => {
		const f = document.querySelector(%q); if (!f) return false
		for (const [name, value] of Object.entries(%s)) { const e = f.elements[name]; if (e) e.value = value }
		return true })()`, form, data))
	if !found {
		b.Fatalf("the page has no form %s", form)
	}
	b.click(form + " button")
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

// text returns the text of the page.
func (b *tab) text() string {
	b.Helper()
	return evaluate[string](b, `document.body.innerText`)
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

// An appearance is how a person sees the pages.
type appearance struct {
	width  int64 // of the window, in pixels
	scheme string
	rules  []string // of axe-core; nil: all of its rules
}

// appear changes the appearance of the page, without loading it again.
func (b *tab) appear(a appearance) {
	b.Helper()
	b.do(chromedp.EmulateViewport(a.width, 800))
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: a.scheme}},
	})
	if !evaluate[bool](b, fmt.Sprintf(`innerWidth === %d && matchMedia('(prefers-color-scheme: %s)').matches`, a.width, a.scheme)) {
		b.Fatalf("the browser does not show the page as %+v", a)
	}
}

// accessible checks the accessibility of the page with axe-core, unless library is empty, and its width. It checks by all rules, unless the
// page was already checked by all of them while the same elements were visible.
func (b *tab) accessible(library, name string, rules []string) {
	b.Helper()
	if library != "" {
		if !evaluate[bool](b, `!!window.axe`) {
			evaluate[bool](b, library+";true")
		}
		only, err := json.Marshal(rules)
		b.Must(err)
		found := evaluate[string](b, fmt.Sprintf(`(() => {
			const visible = [...document.querySelectorAll('body *')].filter(e => e.checkVisibility())
			const same = (window.checked || []).length === visible.length && visible.every((e, i) => e === window.checked[i])
			const options = { selectors: false, resultTypes: ['violations'] }, rules = %s
			if (rules && same) options.runOnly = { type: 'rule', values: rules }
			window.checked = visible
			return axe.run(options).then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' ')).join('\n'))
		})()`, only), chromedp.EvalAwaitPromise)
		if found != "" {
			b.Errorf("%s: axe-core found %s", name, found)
		}
	}
	if wide := evaluate[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
		b.Errorf("%s is %d pixels wider than the window", name, wide)
	}
}

// picture writes a screenshot into the directory UIMGATE_SCREENSHOTS, if it is set.
func (b *tab) picture(name string) {
	b.Helper()
	directory := os.Getenv("UIMGATE_SCREENSHOTS")
	if directory == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	b.Must(err)
	b.Must(os.WriteFile(filepath.Join(directory, name+".png"), picture, 0o600))
}
