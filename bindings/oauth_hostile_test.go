package bindings_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

func TestRefusedDocuments(t *testing.T) {
	g := newGateWaiting(t, 2*time.Second, "")
	says := func(change func(map[string]any)) func() { return func() { g.client.says(change) } }
	serves := func(h http.HandlerFunc) func() { return func() { g.client.set(h) } }
	for name, prepare := range map[string]func(){
		"another client_id":      says(func(m map[string]any) { m["client_id"] = g.client.ID() + "/" }),
		"no redirect URIs":       says(func(m map[string]any) { delete(m, "redirect_uris") }),
		"too many redirect URIs": says(func(m map[string]any) { m["redirect_uris"] = make([]string, 21) }),
		"a script as redirect":   says(func(m map[string]any) { m["redirect_uris"] = []string{callback, "javascript:alert(1)"} }),
		"plain http as redirect": says(func(m map[string]any) { m["redirect_uris"] = []string{callback, "http://assistant.example/cb"} }),
		"a fragment as redirect": says(func(m map[string]any) { m["redirect_uris"] = []string{callback, "https://assistant.example/cb#x"} }),
		"a client with a secret": says(func(m map[string]any) { m["token_endpoint_auth_method"] = "client_secret_basic" }),
		"too large":              says(func(m map[string]any) { m["x"] = strings.Repeat("x", 64<<10) }),
		"a duplicate member": serves(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"client_id":"x","client_id":%q}`, g.client.ID())
		}),
		"not JSON":    serves(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }),
		"not found":   serves(http.NotFound),
		"a redirect":  serves(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other.json", http.StatusFound) }),
		"no response": serves(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
	} {
		prepare()
		a := g.browser().do(http.MethodGet, "/oauth/authorize?"+g.query(newPKCE()).Encode(), nil)
		if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" || strings.Contains(string(a.Body), "<form") {
			t.Errorf("%s: %d %.300s", name, a.Status, a.Body)
		}
		g.Pass(time.Second)
	}
	g.client.says(func(map[string]any) {})
	before := g.client.fetched
	for range 3 {
		g.browser().page(g.query(newPKCE()))
	}
	if g.client.fetched != before+1 {
		t.Errorf("fetched %d times, want once", g.client.fetched-before)
	}
}

// An unauthenticated client chooses the URL, so it must not lead into the operator's network.
func TestPrivateDocumentsAreNotFetched(t *testing.T) {
	g := newGate(t, "\nserver: {issue_per_address: 1000/second, per_address: 10000/second, listen: 127.0.0.1:8080}", func(*gatetest.Gate) {})
	g.Write("uimgate.yaml", `billing: {credit: 100 EUR}
services:
- {agents_file: agents.json, policy_file: policy.json, upstream: {url: "http://127.0.0.1:9"}, public_url: "https://shop.example", `+gatetest.Unproved+`}
`)
	g.Reload()
	before := g.client.fetched
	for _, id := range []string{
		g.client.ID(), strings.Replace(g.client.ID(), "127.0.0.1", "localhost", 1), "https://10.0.0.1/c.json", "https://169.254.169.254/c.json",
		"https://[::1]/c.json", "https://[::ffff:127.0.0.1]/c.json", "https://user@shop.example/c.json",
	} {
		v := g.query(newPKCE(), func(v url.Values) { v.Set("client_id", id); v.Del("resource") })
		a := g.browser().do(http.MethodGet, "/oauth/authorize?"+v.Encode(), nil)
		if a.Status != http.StatusBadRequest || strings.Contains(string(a.Body), "127.0.0.1") || strings.Contains(string(a.Body), "10.0.0") {
			t.Errorf("%s: %d %.200s", id, a.Status, a.Body)
		}
	}
	if g.client.fetched != before {
		t.Errorf("%d requests reached this machine", g.client.fetched-before)
	}
}

func TestRegistration(t *testing.T) {
	g := newGate(t, "")
	good := map[string]any{
		"client_name": "Edi\u202etor\n", "redirect_uris": []string{"http://localhost/callback", "cursor://anysphere/cb"}, "application_type": "native",
	}
	got := g.oauth(g.Call("/oauth/register", "", good))
	if got.Status != http.StatusCreated || got.ClientID == "" || got.CacheControl != "no-store" {
		t.Fatalf("got %+v", got)
	}
	p, b := newPKCE(), g.browser()
	as := func(v url.Values) { v.Set("client_id", got.ClientID) }
	page := b.page(g.query(p, as))
	if text := string(page.Body); !strings.Contains(text, "Editor wants") || !strings.Contains(text, "which anyone can do under any name") {
		t.Errorf("the page: %.1500s", text)
	}
	code := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", formOf(page))).Get("code")
	v := g.exchange(code, p)
	as(v)
	if tokens := g.post("/oauth/token", v); tokens.Status != http.StatusOK {
		t.Errorf("got %+v, want Status %v", tokens, http.StatusOK)
	}
	own := b.page(g.query(newPKCE(), as, func(v url.Values) { v.Set("redirect_uri", "cursor://anysphere/cb") }))
	if policy := own.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self' cursor:;") {
		t.Errorf("got %q, want a text that contains %q", policy, "form-action 'self' cursor:;")
	}
	for name, bad := range map[string]any{
		"no redirect URIs":   map[string]any{"client_name": "x"},
		"a data URI":         map[string]any{"redirect_uris": []string{"data:text/html,x"}},
		"a number":           map[string]any{"redirect_uris": []any{1}},
		"a secret":           map[string]any{"redirect_uris": []string{callback}, "token_endpoint_auth_method": "client_secret_post"},
		"a list":             []any{},
		"a document of 1 MB": map[string]any{"redirect_uris": []string{callback}, "x": strings.Repeat("x", 1<<20)},
	} {
		if a := g.oauth(g.Call("/oauth/register", "", bad)); a.Status < 400 || a.Error == "" || a.ClientID != "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	unused := g.oauth(g.Call("/oauth/register", "", good))
	g.Later(24 * time.Hour)
	for id, status := range map[string]int{got.ClientID: http.StatusOK, unused.ClientID: http.StatusBadRequest} {
		a := b.do(http.MethodGet, "/oauth/authorize?"+g.query(newPKCE(), func(v url.Values) { v.Set("client_id", id) }).Encode(), nil)
		if a.Status != status {
			t.Errorf("a day later: %d, want %d", a.Status, status)
		}
	}
}

func TestLimitPerAddress(t *testing.T) {
	g := newGate(t, "server: {issue_per_address: 2/minute}")
	register := func() oauth {
		return g.oauth(g.Call("/oauth/register", "", map[string]any{"redirect_uris": []string{callback}}))
	}
	for range 2 {
		register()
	}
	g.wants("a third registration", register(), "temporarily_unavailable")
	b := g.browser()
	form := func() url.Values { return formOf(b.page(g.query(newPKCE()))) }
	for range 2 {
		g.sentTo(b.do(http.MethodPost, "/oauth/authorize", form()))
	}
	if a := b.do(http.MethodPost, "/oauth/authorize", form()); a.Status != http.StatusTooManyRequests {
		t.Errorf("a third consent: %d, want %d", a.Status, http.StatusTooManyRequests)
	}
	for n := range 2 { // one document was fetched
		b.do(http.MethodGet, "/oauth/authorize?"+g.query(newPKCE(), func(v url.Values) {
			v.Set("client_id", fmt.Sprintf("%s/other-%d", g.client.URL, n))
		}).Encode(), nil)
	}
	if g.client.fetched != 2 {
		t.Errorf("%d documents were fetched, want 2", g.client.fetched)
	}
}

// An agent with a key needs no consent: its signed agreement is the assertion.
func TestAgentWithKey(t *testing.T) {
	g := newGate(t, "")
	a := g.Unapproved("agent-1")
	assertion := func(change func(header, claims map[string]any)) string {
		key, err := keys.New(a.Key.Public())
		g.Must(err)
		offer := g.Directory.Current().Service("default").Offer()
		var jwk map[string]any
		g.Must(unmarshal(key.JWK(), &jwk))
		header := map[string]any{"typ": pat.TypeAgreement, "jwk": jwk}
		claims := map[string]any{
			"iss": a.ID, "aud": "shop.example", "htu": origin + "/oauth/token", "iat": g.Now().Unix(), "jti": rand.Text(),
			"policy": map[string]any{"uid": offer.UID, "digest": offer.Digest},
		}
		change(header, claims)
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims(claims))
		maps.Copy(token.Header, header)
		text, err := token.SignedString(a.Key)
		g.Must(err)
		return text
	}
	as := func(assertion string) url.Values {
		return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}
	}
	asIs := func(_, _ map[string]any) {}
	good := as(assertion(asIs))
	got := g.post("/oauth/token", good)
	if got.Status != http.StatusOK || got.Refresh != "" || !strings.Contains(got.Scope, gatetest.Ordering) || !g.works(got.Access) {
		t.Fatalf("got %+v", got)
	}
	if a := g.Execute(&gatetest.Agent{Token: got.Access}, gatetest.Ordering); a.Status != http.StatusOK {
		t.Errorf("an order by an agent with a key: %d %s; want %v", a.Status, a.Body, http.StatusOK)
	}
	g.wants("a second time", g.post("/oauth/token", good), "invalid_grant")
	for name, change := range map[string]func(header, claims map[string]any){
		"no key":         func(header, _ map[string]any) { delete(header, "jwk") },
		"another typ":    func(header, _ map[string]any) { header["typ"] = "JWT" },
		"sent elsewhere": func(_, claims map[string]any) { claims["htu"] = "https://other.example/oauth/token" },
		"for another":    func(_, claims map[string]any) { claims["aud"] = "other.example" },
		"another policy": func(_, claims map[string]any) { claims["policy"] = map[string]any{"uid": "x", "digest": "sha-256:x"} },
	} {
		if a := g.post("/oauth/token", as(assertion(change))); a.Status < 400 || a.Error == "" || a.Access != "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	other := as(assertion(asIs))
	other.Set("resource", "https://other.example/mcp")
	g.wants("another resource", g.post("/oauth/token", other), "invalid_target")
	if a := g.post("/oauth/revoke", url.Values{"token": {got.Access}}); a.Status != http.StatusOK || g.works(got.Access) {
		t.Errorf("revoked: %+v", a)
	}
}

func TestWithoutConsent(t *testing.T) {
	const services = "\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, " + gatetest.Unproved
	for name, settings := range map[string]string{
		"consent disabled":      services + ", doors: {mcp: {consent: false}}}\n",
		"only fresh agreements": "pat: {freshness: required}" + services + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := &gate{gatetest.New(t, settings), &site{}}
			g.client.Server = newGate(t, "").client.Server
			body := string(g.Get("/.well-known/oauth-authorization-server").Body)
			if strings.Contains(body, "authorization_endpoint") || strings.Contains(body, "refresh_token") || !strings.Contains(body, "jwt-bearer") {
				t.Error(body)
			}
			if a := g.browser().do(http.MethodGet, "/oauth/authorize?"+g.query(newPKCE()).Encode(), nil); a.Status != http.StatusForbidden {
				t.Errorf("the page: %d, want %d", a.Status, http.StatusForbidden)
			}
			g.wants("a code", g.post("/oauth/token", g.exchange("x", newPKCE())), "unauthorized_client")
			registration := map[string]any{"redirect_uris": []string{callback}}
			g.wants("a registration", g.oauth(g.Call("/oauth/register", "", registration)), "unauthorized_client")
		})
	}
	shut := gatetest.New(t, services+", doors: {mcp: {enabled: false}}}\n")
	for _, path := range []string{"/oauth/authorize", "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"} {
		if a := shut.Get(path); a.Status != http.StatusNotFound {
			t.Errorf("with the door shut, %s: %d, want %d", path, a.Status, http.StatusNotFound)
		}
	}
}

func TestHugePolicyHasShortPage(t *testing.T) {
	rules := make([]string, 0, 4000)
	for n := range 4000 {
		rules = append(rules, fmt.Sprintf(`{"uid": "https://shop.example/rule/%d/%s", "target": "shop.example:search:v1", "action": "execute"}`,
			n, strings.Repeat("x", 100)))
	}
	policy := strings.Replace(gatetest.PolicyFile, `{"target": "shop.example:search:v1", "action": "execute"}`, strings.Join(rules, ",\n"), 1)
	g := newGate(t, "", func(g *gatetest.Gate) { g.Write("policy.json", policy) })
	b := g.browser()
	page := b.page(g.query(newPKCE()))
	if len(policy) < 700_000 || len(page.Body) > 100_000 || !strings.Contains(string(page.Body), "more rules are in the policy itself") {
		t.Errorf("a policy of %d bytes makes a page of %d", len(policy), len(page.Body))
	}
	g.sentTo(b.do(http.MethodPost, "/oauth/authorize", formOf(page)))
}

// TestPageShowsFreeTerms uses an intent that can also be called for a charge, under more terms than a page shows. None of those terms
// apply to a consent.
func TestPageShowsFreeTerms(t *testing.T) {
	rules := []string{}
	for n := range 5 {
		rules = append(rules, fmt.Sprintf(`{"target": "shop.example:search:v1", "action": "execute",
			"duty": [{"action": "pay", "amount": "0.0%d", "unit": "EUR"}]}`, n+1))
	}
	rules = append(rules, `{"target": "shop.example:search:v1", "action": "execute",
		"constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 7, "unit": "hour"}]}`)
	g := newGate(t, "", func(g *gatetest.Gate) {
		g.Write("policy.json", strings.Replace(gatetest.PolicyFile, `{"target": "shop.example:search:v1", "action": "execute"}`,
			strings.Join(rules, ",\n"), 1))
	})
	page := string(g.browser().page(g.query(newPKCE())).Body)
	if !strings.Contains(page, "free, 7 calls an hour") || strings.Contains(page, "EUR a call") {
		t.Errorf("got %s", page)
	}
}
