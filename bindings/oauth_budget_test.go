package bindings_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// budgets are settings of a service whose people may permit clients to spend money. The order costs 0.25 EUR, with a proof of key.
const budgets = `services:
- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM},
   doors: {mcp: {consent: {budget: {max: 3.1 EUR/month, per_call: 1 EUR, confirm_above: 0.5 EUR}}}}}
`

func eur(nano int64) money.Amount {
	return money.Amount{Nano: nano * money.Unit / 100, Currency: "EUR"}
}

// spending returns the form of a person who permits the client to spend money on orders.
func spending(page gatetest.Answer, amount, period, perCall string) url.Values {
	form := formOf(page)
	form.Set("spend", "yes")
	form.Set("budget", amount)
	form.Set("period", period)
	form.Set("per_call", perCall)
	form.Set("pay", gatetest.Ordering+":execute")
	return form
}

// spender returns an agent under a consent that permits it to spend money, its claims, and its refresh token.
func (g *gate) spender(amount, period, perCall string) (*gatetest.Agent, *pat.Claims, string) {
	g.Helper()
	return g.spenderOf(g.browser(), amount, period, perCall)
}

// spenderOf is spender for the consent of one browser.
func (g *gate) spenderOf(b *browser, amount, period, perCall string) (*gatetest.Agent, *pat.Claims, string) {
	g.Helper()
	p := newPKCE()
	sent := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", spending(b.page(g.query(p)), amount, period, perCall)))
	got := g.post("/oauth/token", g.exchange(sent.Get("code"), p))
	if got.Status != http.StatusOK {
		g.Fatalf("got %+v", got)
	}
	claims, err := g.Directory.Current().Service("default").Verifier.Verify(g.Context(), got.Access, g.Now())
	g.Must(err)
	return &gatetest.Agent{ID: claims.Subject, Token: got.Access}, claims, got.Refresh
}

func (g *gate) topUp(a *gatetest.Agent, amount money.Amount) {
	g.Helper()
	_, err := g.Store.TopUp(g.Context(), store.TopUp{Service: "default", AgentID: a.ID, Amount: amount})
	g.Must(err)
}

// A person permits a client to spend money, and the client spends it within the budget, never without credit.
func TestBudgetOfConsent(t *testing.T) {
	g := newGate(t, budgets)
	page := string(g.browser().page(g.query(newPKCE())).Body)
	for _, want := range []string{
		"costs nothing unless you permit it", "This client may spend money", "3.10 EUR in a calendar month", "0.10 EUR in a day",
		"0.25 EUR a call",
		`name="pay" value="` + gatetest.Ordering + `:execute">`, `name="spend" value="yes">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	a, claims, refresh := g.spender("0,50", "month", "0.25")
	want := pat.Budget{
		Allowance: limit.Allowance{Amount: eur(50), Period: limit.Month}, PerCall: eur(25), Intents: []string{gatetest.Ordering},
	}
	if b := claims.Budget; b == nil || b.Allowance != want.Allowance || b.PerCall != want.PerCall || len(b.Intents) != 1 ||
		!claims.Permits(gatetest.Ordering) {
		t.Fatalf("got %+v with the scope %v", b, claims.Scope)
	}
	g.Refuses(g.Execute(a, gatetest.Ordering), http.StatusPaymentRequired, "POLICY_REQUIRES_PAYMENT")
	g.topUp(a, eur(1000))
	for range 2 {
		if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusOK || strings.Contains(got.Header.Get("Ratelimit"), "budget") {
			t.Fatalf("got %d %s %v", got.Status, got.Body, got.Header)
		}
	}
	over := g.Execute(a, gatetest.Ordering)
	g.Refuses(over, http.StatusForbidden, "BUDGET_EXCEEDED")
	var envelope struct {
		Error struct {
			Details struct {
				Budget, Until string
				Left          struct{ Amount, Currency string }
			}
		}
	}
	g.Must(json.Unmarshal(over.Body, &envelope))
	if d := envelope.Error.Details; d.Budget != "0.50 EUR/month" || d.Left.Amount != "0.00" || d.Until == "" {
		t.Errorf("got %s", over.Body)
	}
	if got := g.Execute(a, gatetest.Searching); got.Status != http.StatusOK {
		t.Errorf("a free call: %d %s", got.Status, got.Body)
	}
	again := g.post("/oauth/token", g.refresh(refresh))
	g.Must(g.View.Refresh(g.Context()))
	g.Refuses(g.Execute(&gatetest.Agent{Token: again.Access}, gatetest.Ordering), http.StatusForbidden, "BUDGET_EXCEEDED")

	record, err := g.Store.Agreement(t.Context(), "default", claims.Agreement)
	g.Must(err)
	if b, err := record.Budget(); err != nil || b == nil || b.Allowance != want.Allowance {
		t.Errorf("the record has %+v, %v", b, err)
	}
	g.exportVerifies(record)
}

// The amount of one call, the operator's bound, and the choice of intents each stop a call that credit and budget would allow.
func TestBudgetBoundsEachCall(t *testing.T) {
	g := newGate(t, budgets)
	small, _, _ := g.spender("2", "month", "0.20")
	g.topUp(small, eur(1000))
	g.Refuses(g.Execute(small, gatetest.Ordering), http.StatusForbidden, "CONFIRMATION_REQUIRED")

	p, b := newPKCE(), g.browser() // no spending is permitted, whatever the other fields contain
	form := spending(b.page(g.query(p)), "2", "month", "")
	form.Del("spend")
	got := g.post("/oauth/token", g.exchange(g.sentTo(b.do(http.MethodPost, "/oauth/authorize", form)).Get("code"), p))
	g.Must(g.View.Refresh(g.Context()))
	g.Refuses(g.Execute(&gatetest.Agent{Token: got.Access}, gatetest.Ordering), http.StatusForbidden, "SCOPE_EXCEEDED")

	large, _, _ := g.spender("2", "month", "")
	g.topUp(large, eur(1000))
	if got := g.Execute(large, gatetest.Ordering); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	g.changeSettings("confirm_above: 0.5 EUR", "confirm_above: 0.1 EUR")
	g.Refuses(g.Execute(large, gatetest.Ordering), http.StatusForbidden, "CONFIRMATION_REQUIRED")
	g.changeSettings("{budget: {max: 3.1 EUR/month, per_call: 1 EUR, confirm_above: 0.5 EUR}}", "true") // budgets are off
	g.Refuses(g.Execute(large, gatetest.Ordering), http.StatusForbidden, "SCOPE_EXCEEDED")
}

// If the operator lowers the maximum, or gives it another period, it also limits budgets that people gave before.
func TestMaximumOfOperatorBoundsBudgets(t *testing.T) {
	g := newGate(t, budgets)
	a, _, _ := g.spender("2", "month", "")
	g.topUp(a, eur(1000))
	if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	g.changeSettings("3.1 EUR/month, per_call: 1 EUR", "0.5 EUR/month, per_call: 0.5 EUR")
	if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	over := g.Execute(a, gatetest.Ordering)
	g.Refuses(over, http.StatusForbidden, "BUDGET_EXCEEDED")
	if !strings.Contains(string(over.Body), "at most 0.50 EUR/month, and 0.00 EUR is left") {
		t.Errorf("got %s", over.Body)
	}
	g.changeSettings("3.1 EUR/month, per_call: 1 EUR", "0.5 EUR/day, per_call: 0.5 EUR")
	for range 2 { // the amount spent before counts for the month
		if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusOK {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
	}
	g.Refuses(g.Execute(a, gatetest.Ordering), http.StatusForbidden, "BUDGET_EXCEEDED")
}

// A budget in a currency other than that of the operator's bounds permits nothing, because its amounts cannot be compared with them.
func TestBudgetsEndWithTheCurrencyOfTheBounds(t *testing.T) {
	g := newGate(t, budgets)
	a, _, _ := g.spender("2", "month", "")
	g.topUp(a, eur(1000))
	g.changeSettings("{max: 3.1 EUR/month, per_call: 1 EUR, confirm_above: 0.5 EUR}",
		"{max: 2000 JPY/month, per_call: 500 JPY, confirm_above: 500 JPY}")
	got := g.Execute(a, gatetest.Ordering)
	g.Refuses(got, http.StatusForbidden, "SCOPE_EXCEEDED")
	if !strings.Contains(string(got.Body), "no longer lets clients") || !strings.Contains(string(got.Body), "a budget in JPY") {
		t.Errorf("got %s", got.Body)
	}
	g.Write("uimgate.yaml", g.Settings)
	g.Reload()
	if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusOK {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
}

// A stop of consents ends spending on every process, and a resume permits it again.
func TestStopOfConsentsStopsSpending(t *testing.T) {
	g := newGate(t, budgets)
	a, _, _ := g.spender("2", "month", "")
	g.topUp(a, eur(1000))
	for _, kind := range []pat.StopKind{pat.StopConsent, pat.StopCharging} {
		stop := pat.Stop{Service: "default", Kind: kind, At: g.Now()}
		_, err := g.Store.Stop(g.Context(), stop)
		g.Must(err)
		g.Must(g.View.Refresh(g.Context()))
		g.Refuses(g.Execute(a, gatetest.Ordering), http.StatusServiceUnavailable, "STOPPED")
		_, err = g.Store.Resume(g.Context(), stop)
		g.Must(err)
		g.Must(g.View.Refresh(g.Context()))
		if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusOK {
			t.Errorf("%s: %d %s", kind, got.Status, got.Body)
		}
	}
}

// changeSettings reloads the configuration of the gate with a part replaced.
func (g *gate) changeSettings(from, to string) {
	g.Helper()
	if !strings.Contains(g.Settings, from) {
		g.Fatalf("%s lacks %s", g.Settings, from)
	}
	g.Write("uimgate.yaml", strings.Replace(g.Settings, from, to, 1))
	g.Reload()
}

// The gateway rejects input beyond the bounds, and the page keeps that input.
func TestBudgetBeyondBounds(t *testing.T) {
	g := newGate(t, budgets)
	for name, c := range map[string]struct{ amount, period, perCall, want string }{
		"nothing":              {"", "month", "", "Enter how much"},
		"zero":                 {"0", "month", "", "Enter how much"},
		"a negative amount":    {"-1", "month", "", "Enter how much"},
		"a huge amount":        {"1e12", "month", "", "Enter how much"},
		"too much":             {"3.11", "month", "", "at most 3.10 EUR in a month"},
		"too much a day":       {"0.11", "day", "", "each of 31 days may be at most 0.10 EUR"},
		"another period":       {"1", "year", "", "for a day or for a month"},
		"another currency":     {"1 USD", "month", "", "Enter how much"},
		"too much for a call":  {"2", "month", "1.01", "at most 1.00 EUR on one call"},
		"more for a call":      {"0.5", "month", "0.51", "must not be larger"},
		"no number for a call": {"1", "month", "all", "amount for one call"},
	} {
		p, b := newPKCE(), g.browser()
		page := b.do(http.MethodPost, "/oauth/authorize", spending(b.page(g.query(p)), c.amount, c.period, c.perCall))
		if page.Status != http.StatusOK || !strings.Contains(string(page.Body), c.want) ||
			!strings.Contains(string(page.Body), `name="spend" value="yes" checked>`) ||
			!strings.Contains(string(page.Body), `value="`+c.amount+`"`) {
			t.Errorf("%s: %d %.900s", name, page.Status, page.Body)
		}
	}
	p, b := newPKCE(), g.browser()
	form := spending(b.page(g.query(p)), "1", "month", "")
	form.Set("pay", gatetest.Searching+":execute")
	if page := b.do(http.MethodPost, "/oauth/authorize", form); page.Header.Get("Location") != "" {
		t.Errorf("an intent that was not offered for spending: %d to %q", page.Status, page.Header.Get("Location"))
	}
	plain := newGate(t, "")
	p, b = newPKCE(), plain.browser()
	page := b.do(http.MethodPost, "/oauth/authorize", spending(b.page(plain.query(p)), "1", "month", ""))
	if page.Header.Get("Location") != "" {
		t.Errorf("a service without budgets: %d to %q", page.Status, page.Header.Get("Location"))
	}
}

// A daily budget is available again after a day.
func TestDailyBudgetComesBack(t *testing.T) {
	g := newGate(t, strings.Replace(budgets, "3.1 EUR/month", "2 EUR/day", 1)+"\npat: {ttl: 24h}\n")
	a, _, _ := g.spender("0.25", "day", "")
	g.topUp(a, eur(1000))
	if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	g.Refuses(g.Execute(a, gatetest.Ordering), http.StatusForbidden, "BUDGET_EXCEEDED")
	g.Later(23 * time.Hour)
	g.Refuses(g.Execute(a, gatetest.Ordering), http.StatusForbidden, "BUDGET_EXCEEDED")
}
