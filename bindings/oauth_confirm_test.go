package bindings_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/evidence"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// confirmed are settings of a service whose orders cost more than a client may spend without a confirmation.
var confirmed = strings.Replace(budgets, "confirm_above: 0.5 EUR", "confirm_above: 0.1 EUR", 1)

// A confirmGate is a gate with a client whose person may confirm calls.
type confirmGate struct {
	*gate
	person *browser
	client *gatetest.Agent
	served atomic.Int64 // calls that reached the upstream
}

func newConfirmGate(t *testing.T, settings string) *confirmGate {
	t.Helper()
	c := &confirmGate{}
	c.gate = newGate(t, settings, func(g *gatetest.Gate) {
		g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
			c.served.Add(1)
			_, _ = io.WriteString(w, `{"ok":true}`)
		}
	})
	c.person = c.browser()
	c.client, _, _ = c.spenderOf(c.person, "2", "month", "")
	c.topUp(c.client, eur(1000))
	return c
}

// A confirmation holds the part of a refusal that is about the confirmation of a call.
type confirmation struct {
	Confirmation string
	URL          string `json:"confirm_url"`
	Refused      bool
	Until        time.Time
}

// asks returns the part of a refusal that is about a confirmation. The address is the path on the gateway of the test.
func (c *confirmGate) asks(a gatetest.Answer) (d confirmation) {
	c.Helper()
	c.Refuses(a, http.StatusForbidden, "CONFIRMATION_REQUIRED")
	var envelope struct {
		Error struct{ Details *confirmation }
	}
	envelope.Error.Details = &d
	c.Must(json.Unmarshal(a.Body, &envelope))
	if d.URL != "" {
		u, err := url.Parse(d.URL)
		c.Must(err)
		d.URL = u.RequestURI()
	}
	return d
}

// decide presses a button on the page of a call, and returns the page that follows. It returns the page itself if that has no buttons.
func (b *browser) decide(address, decision string) gatetest.Answer {
	b.Helper()
	page := b.do(http.MethodGet, address, nil)
	form := formOf(page)
	if form.Get("id") == "" {
		return page
	}
	form.Set("decision", decision)
	a := b.do(http.MethodPost, "/oauth/confirm", form)
	if a.Status != http.StatusSeeOther {
		return a
	}
	return b.do(http.MethodGet, "/oauth/"+a.Header.Get("Location"), nil)
}

var tokenField = regexp.MustCompile(`id="token" readonly value="([^"]+)"`)

// confirmIt makes the person confirm, and returns the token on the page.
func (c *confirmGate) confirmIt(address string) string {
	c.Helper()
	page := c.person.decide(address, "confirm")
	m := tokenField.FindSubmatch(page.Body)
	if page.Status != http.StatusOK || m == nil {
		c.Fatalf("%d %s; want a token", page.Status, page.Body)
	}
	return string(m[1])
}

const confirmHeader = "UIM-Confirmation"

// A person confirms exactly one call: the page shows it, the token permits it once, and the ledger names the signed record.
func TestConfirmationOfOneCall(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	asked := c.asks(c.Execute(c.client, gatetest.Ordering))
	if again := c.asks(c.Execute(c.client, gatetest.Ordering)); again != asked || !asked.Until.Equal(c.Now().Add(10*time.Minute)) {
		t.Errorf("asked %+v, then %+v", asked, again)
	}
	page := c.person.do(http.MethodGet, asked.URL, nil)
	for _, want := range []string{
		"Do you confirm this call?", "Order", gatetest.Ordering, `<code>product</code>`, "&#34;lamp&#34;", "0.25 EUR",
		"2.00 EUR in a calendar month", "1.75 EUR",
		`value="confirm"`, `value="refuse"`,
	} {
		if !strings.Contains(string(page.Body), want) {
			t.Errorf("the page lacks %q: %s", want, page.Body)
		}
	}
	policy := page.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "frame-ancestors 'none'") || page.Header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("the page can be framed: %s", policy)
	}
	c.asks(c.Execute(c.client, gatetest.Ordering)) // reading the page confirms nothing

	token := c.confirmIt(asked.URL)
	if missing := c.asks(c.Execute(c.client, gatetest.Ordering)); missing.URL != asked.URL {
		t.Errorf("without the token: %+v", missing)
	}
	c.asks(c.Call("/api/intents/execute", c.client.Token, map[string]any{
		"intent_uid": gatetest.Ordering, "parameters": map[string]any{"product": "desk"},
	}, confirmHeader, token))
	done := c.Execute(c.client, gatetest.Ordering, confirmHeader, token, "Idempotency-Key", "k1")
	if done.Status != http.StatusOK || c.served.Load() != 1 {
		t.Fatalf("%d %s, served %d", done.Status, done.Body, c.served.Load())
	}
	replayed := c.Execute(c.client, gatetest.Ordering, confirmHeader, token, "Idempotency-Key", "k1")
	if replayed.Status != http.StatusOK || replayed.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("repeated with its idempotency key: %d %s", replayed.Status, replayed.Body)
	}
	for _, header := range [][]string{{confirmHeader, token}, {confirmHeader, token, "Idempotency-Key", "k2"}} {
		if second := c.asks(c.Execute(c.client, gatetest.Ordering, header...)); second.URL == asked.URL || second.URL == "" {
			t.Errorf("used twice: %+v", second)
		}
	}
	if c.served.Load() != 1 {
		t.Errorf("served %d", c.served.Load())
	}
	c.recorded(asked.Confirmation, page)
}

// recorded checks the record of a confirmation, and that the ledger names it.
func (c *confirmGate) recorded(id string, page gatetest.Answer) {
	c.Helper()
	kept, err := c.Store.Confirmation(c.Context(), "default", id)
	c.Must(err)
	execution, err := c.Store.Execution(c.Context(), "default", kept.ExecutionID)
	c.Must(err)
	if kept.State != store.ConfirmationUsed || len(kept.Parameters) != 0 || execution.Evidence.Proof != evidence.Digest([]byte(kept.Record)) {
		c.Errorf("got %+v and %+v", kept, execution.Evidence)
	}
	parts := strings.Split(kept.Record, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	c.Must(err)
	var record pat.ConfirmationRecord
	c.Must(json.Unmarshal(payload, &record))
	if record.Assurance != pat.Confirmed || record.Digest != kept.Digest || record.Amount != "0.25" || record.Currency != "EUR" ||
		record.AgentID != c.client.ID || record.Agreement != execution.AgreementID || record.Policy != execution.PolicyDigest ||
		record.Page == "" {
		c.Errorf("got %+v", record)
	}
	if len(page.Body) == 0 {
		c.Error("there was no page")
	}
}

// Only the browser that gave the consent can decide, with a form on its own page.
func TestConfirmationByAnotherIsRefused(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	asked := c.asks(c.Execute(c.client, gatetest.Ordering))
	stranger := c.browser()
	stranger.page(c.query(newPKCE())) // has a separate cookie
	for name, b := range map[string]*browser{"no cookie": c.browser(), "another browser": stranger} {
		if got := b.do(http.MethodGet, asked.URL, nil); got.Status != http.StatusForbidden || strings.Contains(string(got.Body), "lamp") {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	if got := c.person.do(http.MethodGet, "/oauth/confirm?id=AAAAAAAAAAAAAAAAAAAAAA", nil); got.Status != http.StatusForbidden {
		t.Errorf("an unknown id: %d", got.Status)
	}
	form := formOf(c.person.do(http.MethodGet, asked.URL, nil))
	form.Set("decision", "confirm")
	for name, change := range map[string]func(b *browser, v url.Values){
		"another site":    func(b *browser, _ url.Values) { b.header = map[string]string{"Sec-Fetch-Site": "cross-site"} },
		"no ticket":       func(_ *browser, v url.Values) { v.Del("ticket") },
		"another cookie":  func(b *browser, _ url.Values) { b.cookie = stranger.cookie },
		"another ticket":  func(_ *browser, v url.Values) { v.Set("ticket", strings.Repeat("A", 43)) },
		"decided on both": func(_ *browser, v url.Values) { v.Add("decision", "refuse") },
	} {
		b, v := &browser{c.gate, c.person.cookie, map[string]string{"Sec-Fetch-Site": "same-origin"}}, url.Values{}
		for member, values := range form {
			v[member] = append([]string(nil), values...)
		}
		change(b, v)
		if got := b.do(http.MethodPost, "/oauth/confirm", v); got.Status == http.StatusSeeOther {
			t.Errorf("%s: %d to %s", name, got.Status, got.Header.Get("Location"))
		}
	}
	kept, err := c.Store.Confirmation(c.Context(), "default", asked.Confirmation)
	if err != nil || kept.State != store.ConfirmationAsked || kept.Tries != 4 {
		t.Errorf("got %+v, %v", kept, err)
	}
	form.Del("ticket")
	c.person.do(http.MethodPost, "/oauth/confirm", form) // the fifth attempt
	if refused := c.asks(c.Execute(c.client, gatetest.Ordering)); !refused.Refused || refused.URL != "" {
		t.Errorf("after five attempts: %+v", refused)
	}
	if page := c.person.decide(asked.URL, "confirm"); !strings.Contains(string(page.Body), "This call is not confirmed") {
		t.Errorf("after five attempts: %d %s", page.Status, page.Body)
	}
}

// If the person refuses a call, the gateway does not ask about it again for ten minutes. It asks about other calls.
func TestConfirmationRefused(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	asked := c.asks(c.Execute(c.client, gatetest.Ordering))
	if page := c.person.decide(asked.URL, "refuse"); !strings.Contains(string(page.Body), "This call is not confirmed") {
		t.Errorf("got %d %s", page.Status, page.Body)
	}
	if page := c.person.decide(asked.URL, "confirm"); tokenField.Match(page.Body) {
		t.Errorf("a refused call was confirmed: %s", page.Body)
	}
	if refused := c.asks(c.Execute(c.client, gatetest.Ordering)); !refused.Refused {
		t.Errorf("got %+v", refused)
	}
	c.Later(10 * time.Minute)
	if again := c.asks(c.Execute(c.client, gatetest.Ordering)); again.Refused || again.URL == asked.URL || again.URL == "" {
		t.Errorf("ten minutes later: %+v", again)
	}
	if c.served.Load() != 0 {
		t.Errorf("served %d", c.served.Load())
	}
}

// A confirmation permits nothing after ten minutes, after the price has changed, or after the consent has ended.
func TestConfirmationEnds(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	asked := c.asks(c.Execute(c.client, gatetest.Ordering))
	c.Later(10 * time.Minute)
	if page := c.person.decide(asked.URL, "confirm"); !strings.Contains(string(page.Body), "too late") {
		t.Errorf("got %d %s", page.Status, page.Body)
	}
	asked = c.asks(c.Execute(c.client, gatetest.Ordering))
	token := c.confirmIt(asked.URL)
	c.Later(10 * time.Minute)
	if late := c.asks(c.Execute(c.client, gatetest.Ordering, confirmHeader, token)); late.URL == asked.URL {
		t.Errorf("got %+v", late)
	}
	c.Must(c.Directory.Current().Service("default").Issuance.Revoke(c.Context(), pat.Revocation{
		Kind: pat.RevokedAgent, Subject: string(c.client.ID), Reason: "test",
	}))
	c.Must(c.View.Refresh(c.Context()))
	if page := c.person.do(http.MethodGet, asked.URL, nil); page.Status == http.StatusOK {
		t.Errorf("after the consent has ended: %d %s", page.Status, page.Body)
	}
}

// Of many calls at once, one confirmation permits one.
func TestConfirmationUsedAtOnce(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	token := c.confirmIt(c.asks(c.Execute(c.client, gatetest.Ordering)).URL)
	var done atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			switch a := c.Execute(c.client, gatetest.Ordering, confirmHeader, token); {
			case a.Status == http.StatusOK:
				done.Add(1)
			case a.Reason() != "CONFIRMATION_REQUIRED":
				t.Errorf("got %d %s", a.Status, a.Body)
			}
		})
	}
	all.Wait()
	if done.Load() != 1 || c.served.Load() != 1 {
		t.Errorf("%d calls succeeded, %d were served; want 1", done.Load(), c.served.Load())
	}
}

// A confirmed call counts against the budget. The gateway does not ask about a call that the budget does not permit.
func TestConfirmationWithinBudget(t *testing.T) {
	c := newConfirmGate(t, confirmed)
	person := c.browser()
	a, _, _ := c.spenderOf(person, "0.4", "month", "")
	c.topUp(a, eur(1000))
	c.client, c.person = a, person
	token := c.confirmIt(c.asks(c.Execute(a, gatetest.Ordering)).URL)
	if got := c.Execute(a, gatetest.Ordering, confirmHeader, token); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	c.Refuses(c.Execute(a, gatetest.Ordering), http.StatusForbidden, "BUDGET_EXCEEDED")
}

// A person must confirm each call to an intent with the setting confirm: always, even if the call is free and the consent has no budget.
func TestConfirmationOfEachCall(t *testing.T) {
	c := newConfirmGate(t, strings.Replace(budgets, "services:\n- {", `services:
- {intents: {"`+gatetest.Searching+`": {confirm: always}}, `, 1))
	asked := c.asks(c.Execute(c.client, gatetest.Searching))
	page := c.person.do(http.MethodGet, asked.URL, nil)
	if !strings.Contains(string(page.Body), "Nothing") || strings.Contains(string(page.Body), "Your budget") {
		t.Errorf("got %s", page.Body)
	}
	token := c.confirmIt(asked.URL)
	if got := c.Execute(c.client, gatetest.Searching, confirmHeader, token); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	c.asks(c.Execute(c.client, gatetest.Searching, confirmHeader, token))
	if got := c.Execute(c.client, gatetest.Ordering); got.Status != http.StatusOK {
		t.Errorf("an order within the amount for one call: %d %s", got.Status, got.Body)
	}
}
