package bindings_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

const (
	changedSince = "What has changed since"
	newPrice     = "The price is 0.50 EUR, instead of 0.25 EUR."
	goesOn       = "Unchanged: your earlier consent still applies to this."
	endedTerms   = "The terms of this have changed since your earlier consent."
)

// consented returns a browser that has consented, and the tokens of the client.
func (g *gate) consented() (*browser, oauth) {
	g.Helper()
	p, b := newPKCE(), g.browser()
	got := g.post("/oauth/token", g.exchange(g.sentTo(b.agreeTo(g.query(p))).Get("code"), p))
	if got.Status != http.StatusOK {
		g.Fatalf("got %+v, want Status %v", got, http.StatusOK)
	}
	return b, got
}

// agreeTo makes the person agree to the page for a query.
func (b *browser) agreeTo(q url.Values) gatetest.Answer {
	b.Helper()
	return b.do(http.MethodPost, "/oauth/authorize", formOf(b.page(q)))
}

// text returns the consent page.
func (b *browser) text(change ...func(url.Values)) string {
	b.Helper()
	return html.UnescapeString(string(b.page(b.query(newPKCE(), change...)).Body))
}

func (g *gate) contains(name, page string, want, not []string) {
	g.Helper()
	for _, text := range want {
		if !strings.Contains(page, text) {
			g.Errorf("%s: the page lacks %q", name, text)
		}
	}
	for _, text := range not {
		if strings.Contains(page, text) {
			g.Errorf("%s: the page has %q", name, text)
		}
	}
}

func TestPageShowsChangesSinceEarlierConsent(t *testing.T) {
	g := newGate(t, "")
	b, got := g.consented()
	g.contains("the same terms", b.text(), nil, []string{changedSince})
	g.changePrice()
	page := b.text()
	g.contains("another price", page, []string{changedSince, newPrice, goesOn, "for 1 of 1 intents"}, []string{endedTerms})
	if !g.works(got.Access) {
		t.Error("the earlier consent does not go on")
	}
	g.Later(time.Second)
	form := formOf(b.page(g.query(newPKCE())))
	first := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", form)).Get("code")
	if again := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", form)).Get("code"); first == "" || again != first {
		t.Errorf("a form sent twice: codes %q and %q, want one", first, again)
	}
	g.contains("after agreeing", b.text(), nil, []string{changedSince})
	g.changePolicy()
	g.contains("other terms for all", b.text(), []string{changedSince, "no longer permits anything below"}, []string{goesOn})
}

// A consent permits only intents whose terms are the same; the page marks the others.
func TestPageMarksIntentsWithChangedTerms(t *testing.T) {
	const second = `{"target": "shop.example:stock:v1", "action": "execute"},`
	policy := strings.Replace(gatetest.PolicyFile, `"permission": [`, `"permission": [`+second, 1)
	agents := strings.Replace(gatetest.AgentsFile, `"intents": [`, `"intents": [{"intent_uid": "shop.example:stock:v1", "intent_name": "Stock",
		"description": "Stock.", "input_parameters": [], "endpoint": {"url": "https://shop.example/stock", "method": "GET"}},`, 1)
	g := newGate(t, "", func(g *gatetest.Gate) {
		g.Write("policy.json", policy)
		g.Write("agents.json", agents)
	})
	b, _ := g.consented()
	g.offer(strings.Replace(policy, second, `{"target": "shop.example:stock:v1", "action": "execute",
		"constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 7, "unit": "hour"}]},`, 1))
	page := b.text()
	g.contains("another limit", page, []string{changedSince, goesOn, endedTerms, "for 1 of 2 intents"}, nil)
}

// Anyone can send the id of a client, so the page for another browser or another client has nothing of the earlier consent.
func TestEarlierConsentIsPrivate(t *testing.T) {
	g := newGate(t, "")
	b, _ := g.consented()
	g.changePrice()
	form := formOf(b.page(g.query(newPKCE())))
	if form.Get("earlier") == "" {
		t.Fatal("the form does not name the earlier consent")
	}
	registered := g.oauth(g.Call("/oauth/register", "", map[string]any{"redirect_uris": []string{callback}}))
	client := func(v url.Values) { v.Set("client_id", registered.ClientID) }
	other := g.browser()
	other.page(g.query(newPKCE()))
	sameBrowser := *b
	forged := formOf(b.page(g.query(newPKCE(), client)))
	forged.Set("earlier", form.Get("earlier"))
	for name, page := range map[string]string{
		"a new browser":                       g.browser().text(),
		"a browser with a cookie":             other.text(),
		"another browser that sends the form": string(other.do(http.MethodPost, "/oauth/authorize", form).Body),
		"another client":                      sameBrowser.text(client),
	} {
		g.contains(name, page, []string{"<form"}, []string{changedSince, newPrice, form.Get("earlier")})
	}
	if sent := g.sentTo(sameBrowser.do(http.MethodPost, "/oauth/authorize", forged)); sent.Get("code") == "" {
		t.Errorf("another client that names the earlier consent: %v, want the code of a page that does not show it", sent)
	}
}

// An earlier consent that has ended permits nothing, and one that has expired is forgotten.
func TestEarlierConsentHasEnded(t *testing.T) {
	g := newGate(t, "")
	revoked, got := g.consented()
	g.post("/oauth/revoke", url.Values{"token": {got.Refresh}, "client_id": {g.client.ID()}})
	unused := g.browser()
	unused.agreeTo(g.query(newPKCE()))
	g.changePrice()
	for name, b := range map[string]*browser{"revoked": revoked, "a code that was not used": unused} {
		g.contains(name, b.text(), []string{changedSince, newPrice, "no longer permits anything below"}, []string{goesOn, "continues until"})
	}
	form := formOf(revoked.page(g.query(newPKCE())))
	g.Later(31 * 24 * time.Hour)
	_, err := g.Store.Purge(t.Context())
	g.Must(err)
	g.contains("expired", revoked.text(), nil, []string{changedSince})
	again := revoked.do(http.MethodPost, "/oauth/authorize", form)
	g.contains("a form that names it", string(again.Body), []string{"Please check again"}, []string{changedSince})
}

// The gateway compares the last 64 policies.
func TestEarlierPolicyIsTooOld(t *testing.T) {
	g := newGate(t, "")
	b, got := g.consented()
	for n := range 65 {
		text := strings.Replace(gatetest.PolicyFile, `"0.25"`, fmt.Sprintf(`"1.%02d"`, n), 1)
		offer, err := pat.NewOffer([]byte(text), "https://shop.example/policy/1")
		g.Must(err)
		g.Later(time.Second)
		g.Must(g.Store.OfferPolicy(t.Context(), pat.PolicyDocument{
			Service: "default", Digest: offer.Digest, UID: offer.UID, Bytes: offer.Bytes, FirstOffered: g.Now(),
		}))
	}
	g.changePrice()
	want := []string{changedSince, "no list of the changes", "no longer permits anything below"}
	g.contains("too old", b.text(), want, []string{newPrice, goesOn})
	if g.works(got.Access) {
		t.Error("the earlier consent goes on")
	}
}

// The browser keeps the cookie for as long as its consent lasts, even if it is closed.
func TestCookieIsKeptForConsent(t *testing.T) {
	g := newGate(t, "")
	b := g.browser()
	first := b.page(g.query(newPKCE())).Header.Get("Set-Cookie")
	agreed := b.agreeTo(g.query(newPKCE())).Header.Get("Set-Cookie")
	value, _, _ := strings.Cut(first, ";")
	if strings.Contains(first, "Max-Age") || !strings.HasPrefix(agreed, value+";") || !strings.Contains(agreed, "Max-Age=2592000;") {
		t.Errorf("cookies %q and, after agreeing, %q; want the second one for 30 days", first, agreed)
	}
	if again := b.page(g.query(newPKCE())).Header.Get("Set-Cookie"); again != "" {
		t.Errorf("a further page sets %q", again)
	}
}
