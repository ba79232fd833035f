package oauth_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A person sees the consents of the own browser, with what each client spent, and ends one at once. Another browser sees and ends nothing.
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
	form := formOf(page)
	form.Set("decision", "end")
	other := &browser{c.gate, c.person.cookie, map[string]string{"Sec-Fetch-Site": "cross-site"}}
	forged := formOf(page)
	forged.Set("decision", "end")
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
	if !strings.Contains(string(after.Body), "has ended") || regexp.MustCompile(`value="end"`).Match(after.Body) {
		t.Errorf("got %s", after.Body)
	}
}
