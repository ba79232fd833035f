package bindings_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A person sees the consents that this browser gave, with the amounts that each client has spent, and ends one at once. Another browser
// sees and ends nothing.
func TestOwnConsents(t *testing.T) {
	c := newConfirmGate(t, budgets)
	if got := c.Execute(c.client, gatetest.Ordering); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	page := c.person.do(http.MethodGet, "/oauth/consents", nil)
	for _, want := range []string{
		"is valid", "Search", "Order", "2.00 EUR in a calendar month", "1.75 EUR", "<strong>0.25 EUR</strong> for Order (captured)", string(c.client.ID),
	} {
		if !strings.Contains(string(page.Body), want) {
			t.Errorf("the page lacks %q: %s", want, page.Body)
		}
	}
	stranger := c.browser()
	c.spenderOf(stranger, "1", "month", "")
	for name, b := range map[string]*browser{"no cookie": c.browser(), "another browser": stranger} {
		if got := b.do(http.MethodGet, "/oauth/consents", nil); got.Status != http.StatusOK ||
			strings.Contains(string(got.Body), string(c.client.ID)) {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	form := formWith(page, "end")
	other := &browser{c.gate, c.person.cookie, map[string]string{"Sec-Fetch-Site": "cross-site"}}
	forged := formWith(page, "end")
	forged.Set("ticket", strings.Repeat("A", 43))
	for name, got := range map[string]gatetest.Answer{
		"another browser": stranger.do(http.MethodPost, "/oauth/consents", form), "another site": other.do(http.MethodPost, "/oauth/consents", form),
		"no ticket": c.person.do(http.MethodPost, "/oauth/consents", forged),
	} {
		if got.Status != http.StatusForbidden {
			t.Errorf("%s: %d", name, got.Status)
		}
	}
	if got := c.Execute(c.client, gatetest.Ordering); got.Status != http.StatusOK {
		t.Errorf("after the attempts of others: %d %s", got.Status, got.Body)
	}
	for range 2 { // a form that is sent twice
		if got := c.person.do(http.MethodPost, "/oauth/consents", form); got.Status != http.StatusSeeOther {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
	}
	c.Must(c.View.Refresh(c.Context()))
	c.Refuses(c.Execute(c.client, gatetest.Ordering), http.StatusUnauthorized, "REVOKED_TOKEN")
	after := c.person.do(http.MethodGet, "/oauth/consents", nil)
	if !strings.Contains(string(after.Body), "has ended") || !strings.Contains(string(after.Body), "not spent is still at") ||
		regexp.MustCompile(`value="end"`).Match(after.Body) {
		t.Errorf("got %s", after.Body)
	}
}

// A person changes the amounts of a budget: they decide the next call with the same PAT, and amounts already spent count.
func TestOwnBudgetChanged(t *testing.T) {
	c := newConfirmGate(t, budgets)
	c.client, _, _ = c.spenderOf(c.person, "0.25", "month", "")
	c.topUp(c.client, eur(1000))
	if got := c.Execute(c.client, gatetest.Ordering); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	c.Refuses(c.Execute(c.client, gatetest.Ordering), http.StatusForbidden, "BUDGET_EXCEEDED")
	first := c.changeForm("0.50", "0,25")
	for range 2 { // a form that is sent twice
		if got := c.person.do(http.MethodPost, "/oauth/consents", first); got.Status != http.StatusSeeOther {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
	}
	if got := c.Execute(c.client, gatetest.Ordering); got.Status != http.StatusOK {
		t.Fatalf("after the budget was raised: %d %s", got.Status, got.Body)
	}
	c.Refuses(c.Execute(c.client, gatetest.Ordering), http.StatusForbidden, "BUDGET_EXCEEDED")
	if got := c.person.do(http.MethodPost, "/oauth/consents", c.changeForm("2", "0.10")); got.Status != http.StatusSeeOther {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	c.asks(c.Execute(c.client, gatetest.Ordering)) // costs more than the new amount for one call
	page := c.person.do(http.MethodPost, "/oauth/consents", first)
	if page.Status != http.StatusOK || !strings.Contains(string(page.Body), "has been changed since") ||
		!strings.Contains(string(page.Body), `name="budget" inputmode="decimal" maxlength="24" value="0.50"`) {
		t.Errorf("an earlier form: %d %s", page.Status, page.Body)
	}
	if got := c.person.do(http.MethodPost, "/oauth/consents", c.changeForm("0.25", "0.25")); got.Status != http.StatusSeeOther {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	c.Refuses(c.Execute(c.client, gatetest.Ordering), http.StatusForbidden, "BUDGET_EXCEEDED")
	if page := c.person.do(http.MethodGet, "/oauth/consents", nil); !strings.Contains(string(page.Body), "<dd>0.00 EUR</dd>") {
		t.Errorf("a budget below what was spent: %s", page.Body)
	}
	c.changesRecorded()
}

// changesRecorded checks the signed record of the third change of the client's budget.
func (c *confirmGate) changesRecorded() {
	c.Helper()
	id := c.agreement()
	record, number, err := c.Store.Budget(c.Context(), "default", id)
	c.Must(err)
	a, err := c.Store.Agreement(c.Context(), "default", id)
	c.Must(err)
	budget, err := a.Budget()
	if err != nil || number != 3 || a.NewBudget != record || budget.Amount != eur(25) || !budget.Covers(gatetest.Ordering, "EUR") {
		c.Errorf("got %+v, %v; change %d %s", budget, err, number, record)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(record, ".")[1])
	c.Must(err)
	var r pat.BudgetRecord
	c.Must(json.Unmarshal(payload, &r))
	if r.AgentID != c.client.ID || r.Agreement != a.ID || r.Previous == "" || r.Previous == pat.DigestOf(a.Signature) {
		c.Errorf("got %+v", r)
	}
	policy, err := c.Store.Policy(c.Context(), "default", a.PolicyDigest)
	c.Must(err)
	changes, err := c.Store.Budgets(c.Context(), "default", id)
	c.Must(err)
	bundle, err := pat.Export(a, policy, nil, changes...)
	c.Must(err)
	e, err := pat.VerifyExport(bundle, nil)
	c.Must(err)
	if len(e.Budgets) != 3 || !e.Budgets[2].Proved || e.Budgets[2].Budget.Amount != eur(25) || e.Agreement.NewBudget != record {
		c.Errorf("the export has %+v", e.Budgets)
	}
}

// A person sets the budget to nothing, and later permits charges again, under the same consent.
func TestOwnBudgetOfNothing(t *testing.T) {
	c := newConfirmGate(t, budgets)
	c.client, _, _ = c.spenderOf(c.person, "1", "month", "")
	c.topUp(c.client, eur(1000))
	if got := c.Execute(c.client, gatetest.Ordering); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	if got := c.person.do(http.MethodPost, "/oauth/consents", c.changeForm("0", "0.25")); got.Status != http.StatusSeeOther {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	refused := c.Execute(c.client, gatetest.Ordering)
	c.Refuses(refused, http.StatusForbidden, "BUDGET_EXCEEDED")
	if !strings.Contains(string(refused.Body), "/oauth/consents") || !strings.Contains(string(refused.Body), "spend nothing") {
		t.Errorf("got %s", refused.Body)
	}
	if got := c.Execute(c.client, gatetest.Searching); got.Status != http.StatusOK {
		t.Errorf("a free call: %d %s", got.Status, got.Body)
	}
	if page := c.person.do(http.MethodGet, "/oauth/consents", nil); !strings.Contains(string(page.Body), "0.00 EUR") {
		t.Errorf("the page does not show the budget: %s", page.Body)
	}
	if got := c.person.do(http.MethodPost, "/oauth/consents", c.changeForm("1", "")); got.Status != http.StatusSeeOther {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	if got := c.Execute(c.client, gatetest.Ordering); got.Status != http.StatusOK {
		t.Errorf("permitted again: %d %s", got.Status, got.Body)
	}
	if got := c.person.do(http.MethodPost, "/oauth/consents", c.changeForm("0.90", "")); got.Status != http.StatusSeeOther {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	near := c.Execute(c.client, gatetest.Ordering) // 0.75 of 0.90 EUR
	if got := near.Header.Get("UIM-Warning"); !strings.HasPrefix(got, "budget-near") || !strings.Contains(got, "0.15 EUR") {
		t.Errorf("near the end of the budget: %d, the warning is %q", near.Status, got)
	}
}

// formWith returns the first form on a page that has a button, as if the button was pressed; nil if there is none.
func formWith(page gatetest.Answer, button string) url.Values {
	for form := range strings.SplitSeq(string(page.Body), "<form ") {
		if form, _, _ := strings.Cut(form, "</form>"); strings.Contains(form, `name="decision" value="`+button+`"`) {
			page.Body = []byte(form)
			v := formOf(page)
			v.Set("decision", button)
			return v
		}
	}
	return nil
}

// changeForm returns the form of the client's consent with other amounts.
func (c *confirmGate) changeForm(amount, perCall string) url.Values {
	c.Helper()
	page := c.person.do(http.MethodGet, "/oauth/consents", nil)
	for article := range strings.SplitSeq(string(page.Body), "<article ") {
		if strings.Contains(article, string(c.client.ID)) {
			page.Body = []byte(article)
		}
	}
	v := formWith(page, "change")
	if v == nil {
		c.Fatal("the budget cannot be changed")
	}
	v.Set("budget", amount)
	v.Set("per_call", perCall)
	return v
}

// A budget is changed only within the bounds of the operator, and only by its own form in the same browser.
func TestOwnBudgetRefused(t *testing.T) {
	c := newConfirmGate(t, budgets)
	for name, amounts := range map[string][3]string{
		"zero for one call": {"1", "0", "Enter the amount for one call"}, "negative": {"-1", "0.10", "Enter how much"}, "empty": {"", "", "Enter how much"},
		"huge": {"1000000000000", "0.10", "Enter how much"}, "another currency": {"1 USD", "0.10", "Enter how much"},
		"above the maximum": {"3.11", "0.10", "may spend at most 3.10 EUR"}, "one call above the maximum": {"3", "1.01", "at most 1.00 EUR"},
		"one call above all": {"0.50", "0.51", "must not be larger"},
	} {
		page := c.person.do(http.MethodPost, "/oauth/consents", c.changeForm(amounts[0], amounts[1]))
		if page.Status != http.StatusOK || !strings.Contains(string(page.Body), amounts[2]) ||
			!strings.Contains(string(page.Body), `role="alert"`) {
			t.Errorf("%s: %d %s", name, page.Status, page.Body)
		}
	}
	form := c.changeForm("1", "0.10")
	end := formWith(c.person.do(http.MethodGet, "/oauth/consents", nil), "end")
	forged, swapped := maps.Clone(form), maps.Clone(form)
	forged.Set("ticket", strings.Repeat("A", 43))
	swapped.Set("ticket", end.Get("ticket"))
	stranger := c.browser()
	c.spenderOf(stranger, "1", "month", "")
	site := &browser{c.gate, c.person.cookie, map[string]string{"Sec-Fetch-Site": "cross-site"}}
	for name, got := range map[string]gatetest.Answer{
		"another browser":            stranger.do(http.MethodPost, "/oauth/consents", form),
		"no cookie":                  c.browser().do(http.MethodPost, "/oauth/consents", form),
		"another site":               site.do(http.MethodPost, "/oauth/consents", form),
		"forged":                     c.person.do(http.MethodPost, "/oauth/consents", forged),
		"the ticket of another form": c.person.do(http.MethodPost, "/oauth/consents", swapped),
	} {
		if got.Status != http.StatusForbidden {
			t.Errorf("%s: %d", name, got.Status)
		}
	}
	if end.Get("ticket") == form.Get("ticket") {
		t.Error("both forms have the same ticket")
	}
	if _, number, err := c.Store.Budget(c.Context(), "default", c.agreement()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got change %d, %v", number, err)
	}
	if got := c.person.do(http.MethodPost, "/oauth/consents", end); got.Status != http.StatusSeeOther {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	if got := c.person.do(http.MethodPost, "/oauth/consents", form); got.Status == http.StatusSeeOther {
		t.Errorf("a budget of a consent that has ended: %d", got.Status)
	}
}

func (c *confirmGate) agreement() pat.AgreementID {
	c.Helper()
	claims, err := c.Directory.Current().Service("default").Verifier.Verify(c.Context(), c.client.Token, c.Now())
	c.Must(err)
	return claims.Agreement
}
