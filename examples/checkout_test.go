package examples_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/examples/checkout/page"
	"github.com/uimgate/uimgate/internal/money"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

const secret = "a secret of the checkout"

// A person follows the address in a refusal, pays on the page, and the agent's call then succeeds.
func TestAgentCallsAfterCheckout(t *testing.T) {
	for name, stripe := range map[string]bool{"own events": false, "events of Stripe": true} {
		t.Run(name, func(t *testing.T) {
			var checkout *page.Page
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { checkout.ServeHTTP(w, r) }))
			defer server.Close()
			g := gatetest.New(t, "billing: {mode: prepaid}\npayments: {minimum: 2.50 EUR, top_up_url: '"+server.URL+
				"/?agent={agent_id}&amount={amount}&currency={currency}', webhook: {secret: '"+secret+"'}}\n"+
				"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+"}\n")
			checkout = page.New(page.Options{Webhook: g.URL + "/api/credit/webhook", Secret: secret, Stripe: stripe, Now: g.Now})
			a := g.Agreed("agent-1")
			refused := g.Execute(a, gatetest.Ordering)
			g.Refuses(refused, http.StatusPaymentRequired, "POLICY_REQUIRES_PAYMENT")
			at := regexp.MustCompile(`"top_up_url":"([^"]+)"`).FindSubmatch(refused.Body)
			if at == nil {
				t.Fatalf("the refusal names no page: %s", refused.Body)
			}
			shown := fetch(t, strings.ReplaceAll(string(at[1]), `\u0026`, "&"))
			form := url.Values{}
			for _, m := range regexp.MustCompile(`name="([a-z]+)" value="([^"]*)"`).FindAllStringSubmatch(shown, -1) {
				form.Set(m[1], m[2])
			}
			if form.Get("agent") != "agent-1" || form.Get("amount") != "2.50" || form.Get("currency") != "EUR" {
				t.Fatalf("the page has the form %v:\n%s", form, shown)
			}
			for range 2 { // a form that is sent twice is one payment
				resp, err := http.PostForm(server.URL+"/pay", form)
				g.Must(err)
				text, err := io.ReadAll(resp.Body)
				g.Must(err)
				g.Must(resp.Body.Close())
				if resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "Paid.") {
					t.Fatalf("got %d %s", resp.StatusCode, text)
				}
			}
			if got := g.Execute(a, gatetest.Ordering); got.Status != http.StatusOK {
				t.Errorf("after the payment: %d %s", got.Status, got.Body)
			}
			list, err := g.Store.Accounts(t.Context(), store.Filter{Service: "default"})
			g.Must(err)
			if len(list) != 1 || list[0].ToppedUp != (money.Amount{Nano: 2_500_000_000, Currency: "EUR"}) {
				t.Errorf("got %+v, want 2.50 EUR paid in", list)
			}
		})
	}
}

func fetch(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPageRefusesWhatIsNotAPayment(t *testing.T) {
	server := httptest.NewServer(page.New(page.Options{Webhook: "http://127.0.0.1:1/", Secret: secret, Now: time.Now}))
	defer server.Close()
	for _, query := range []string{
		"", "agent=a&amount=0", "agent=a&amount=-1", "agent=a&amount=1e9", "agent=a&currency=eur", "agent=" + strings.Repeat("a", 201),
	} {
		if text := fetch(t, server.URL+"/?"+query); strings.Contains(text, "<form") {
			t.Errorf("%s has a form", query)
		}
	}
	if text := fetch(t, server.URL+"/?agent="+url.QueryEscape("<script>")); strings.Contains(text, "<script>") || !strings.Contains(text,
		"&lt;script&gt;") {
		t.Errorf("the agent is not escaped:\n%s", text)
	}
}
