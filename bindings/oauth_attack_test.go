package bindings_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/consent"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

func (g *gate) registered(redirect string) oauth {
	g.Helper()
	return g.oauth(g.Call("/oauth/register", "", map[string]any{"client_name": "x", "redirect_uris": []string{redirect}}))
}

// Anyone can register a client with any redirect URI, so a browser is redirected only after the person's decision. See RFC 9700, section
// 4.11.2.
func TestErrorsDoNotRedirectToOtherSites(t *testing.T) {
	g := newGate(t, "")
	client := g.registered("https://evil.example/login").ClientID
	a := g.browser().do(http.MethodGet, "/oauth/authorize?"+g.query(newPKCE(), func(v url.Values) {
		v.Set("client_id", client)
		v.Set("redirect_uri", "https://evil.example/login")
		v.Set("scope", "no such")
	}).Encode(), nil)
	body := string(a.Body)
	if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" ||
		!strings.Contains(body, `href="https://evil.example/login?error=invalid_scope`) || !strings.Contains(body, "<strong>evil.example</strong>") {
		t.Errorf("%d to %q: %s", a.Status, a.Header.Get("Location"), body)
	}
}

func TestLookalikeHosts(t *testing.T) {
	g := newGate(t, "")
	for _, uri := range []string{
		"https://%D0%B0pple.example/cb", "https://shop.example%E2%80%8B.evil.example/cb", "https://shop.example,evil.example/cb",
		"https://shop.example;evil.example/cb", "https://shop.example$.evil.example/cb", "https:///evil.example/cb", "https:evil.example/cb",
		"https://[fe80::1%25x]/cb", "intent://scan/#Intent", "intent:x", "ms-msdt:x", "http://127.1/cb", "http://0x7f.1/cb",
		"http://localhost.evil.example/cb", "http://localhost@evil.example/cb", `https://evil.example\@shop.example/cb`,
		"JavaScript:alert(1)", " https://evil.example/cb",
	} {
		if got := g.registered(uri); got.Error != "invalid_redirect_uri" {
			t.Errorf("%s: got %+v; want Error %q", uri, got, "invalid_redirect_uri")
		}
	}
	for _, uri := range []string{
		"https://assistant.example:8443/cb", "https://xn--pple-43d.example/cb", "https://192.0.2.1/cb", "http://[::1]/cb",
	} {
		if got := g.registered(uri); got.Status != http.StatusCreated {
			t.Errorf("%s: got %+v; want Status %v", uri, got, http.StatusCreated)
		}
	}
	before := g.client.fetched
	a := g.browser().do(http.MethodGet, "/oauth/authorize?"+g.query(newPKCE(), func(v url.Values) {
		v.Set("client_id", "https://%D0%B0pple.example/client.json")
	}).Encode(), nil)
	if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "A client_id that is a URL") || g.client.fetched != before {
		t.Errorf("a document: %d %s", a.Status, a.Body)
	}
}

// Any program can claim a scheme or a port.
func TestWarningAboutLocalProgram(t *testing.T) {
	g := newGate(t, "")
	client := g.registered("cursor://anysphere/cb").ClientID
	page := g.browser().page(g.query(newPKCE(), func(v url.Values) {
		v.Set("client_id", client)
		v.Set("redirect_uri", "cursor://anysphere/cb")
	}))
	if !strings.Contains(string(page.Body), "This is a program on this computer") {
		t.Errorf("got %.1500s", page.Body)
	}
}

func TestTextsThatStoresReject(t *testing.T) {
	g := newGate(t, "")
	for name, change := range map[string]func(url.Values){
		"a NUL in state":             func(v url.Values) { v.Set("state", "a\x00") },
		"a state that is not a text": func(v url.Values) { v.Set("state", "\xff\xfe") },
		"a NUL as client":            func(v url.Values) { v.Set("client_id", "\x00") },
	} {
		a := g.browser().do(http.MethodGet, "/oauth/authorize?"+g.query(newPKCE(), change).Encode(), nil)
		if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" || strings.Contains(string(a.Body), "<form") {
			t.Errorf("%s: %d", name, a.Status)
		}
	}
}

func TestUnsupportedMethods(t *testing.T) {
	g := newGate(t, "")
	for path, methods := range map[string][]string{
		"/oauth/token": {"POS", "T", "GET", "HEAD", "PUT"}, "/oauth/authorize": {"EAD", "POS", "OPTIONS"}, "/oauth/wait": {"HEAD", "POST", "GE"},
		"/.well-known/oauth-authorization-server": {"OPT", "POST"},
	} {
		for _, method := range methods {
			if a := g.browser().do(method, path, nil); a.Status != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d, want %d", method, path, a.Status, http.StatusMethodNotAllowed)
			}
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, g.URL+"/oauth/token", nil)
	g.Must(err)
	r.Header.Set("Origin", "https://inspector.example")
	a := g.Send(r)
	if a.Status != http.StatusNoContent || a.Header.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(a.Header.Get("Access-Control-Allow-Methods"), "POST") || a.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("a preflight: %d %v", a.Status, a.Header)
	}
}

// A web page can use a host name that its owner points to this machine.
func TestForeignHost(t *testing.T) {
	g := newGate(t, "")
	for path, form := range map[string]url.Values{"/oauth/authorize?" + g.query(newPKCE()).Encode(): nil, "/oauth/token": {"grant_type": {"x"}}} {
		method := http.MethodGet
		if form != nil {
			method = http.MethodPost
		}
		r, err := http.NewRequestWithContext(t.Context(), method, g.URL+path, strings.NewReader(form.Encode()))
		g.Must(err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Host = "evil.example"
		if a := g.Send(r); a.Status != http.StatusForbidden || strings.Contains(string(a.Body), "<form") {
			t.Errorf("%s: %d %.200s", path, a.Status, a.Body)
		}
	}
}

// After the operator has revoked a policy or an agent, a refresh token no longer works.
func TestNoRefreshAfterRevocation(t *testing.T) {
	for name, end := range map[string]func(*gate, *pat.Claims){
		"a policy": func(g *gate, c *pat.Claims) {
			g.Must(g.Directory.Current().Service("default").Issuance.Revoke(g.Context(),
				pat.Revocation{Kind: pat.RevokedPolicy, Subject: c.PolicyDigest, Reason: "wrong"}))
		},
		"an agent": func(g *gate, c *pat.Claims) {
			g.Must(g.Directory.Current().Service("default").Issuance.Revoke(g.Context(),
				pat.Revocation{Kind: pat.RevokedAgent, Subject: string(c.Subject), Reason: "unknown"}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, "")
			got := g.tokens()
			claims, err := g.Directory.Current().Service("default").Verifier.Verify(t.Context(), got.Access, g.Now())
			g.Must(err)
			g.Later(time.Second)
			end(g, claims)
			g.Later(2 * time.Second)
			g.wants("a refresh", g.post("/oauth/token", g.refresh(got.Refresh)), "invalid_grant")
			if next := g.tokens(); !g.works(next.Access) {
				t.Error("another consent does not work")
			}
		})
	}
}

func TestRevokeWhileConsentIsOff(t *testing.T) {
	const consent = "\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: \"http://127.0.0.1:9\"}, " +
		gatetest.Unproved + ", doors: {mcp: {consent: SWITCH}}}\n"
	set := func(g *gate, to string) {
		g.Write("uimgate.yaml", "server: {issue_per_address: 1000/second}\nbilling: {credit: 100 EUR}"+strings.Replace(consent, "SWITCH", to, 1))
		g.Reload()
	}
	g := newGate(t, "")
	got := g.tokens()
	set(g, "false")
	g.wants("a refresh", g.post("/oauth/token", g.refresh(got.Refresh)), "unauthorized_client")
	if a := g.post("/oauth/revoke", url.Values{"token": {got.Refresh}}); a.Status != http.StatusOK {
		t.Errorf("got %+v, want Status %v", a, http.StatusOK)
	}
	set(g, "true")
	g.wants("once it is on again", g.post("/oauth/token", g.refresh(got.Refresh)), "invalid_grant")
}

func TestRefreshRateIsLimited(t *testing.T) {
	g := newGate(t, "server: {issue_per_address: 2/minute}")
	got := g.tokens()
	for range 2 {
		if got = g.post("/oauth/token", g.refresh(got.Refresh)); got.Status != http.StatusOK {
			t.Fatalf("got %+v, want Status %v", got, http.StatusOK)
		}
	}
	g.wants("a third", g.post("/oauth/token", g.refresh(got.Refresh)), "temporarily_unavailable")
	g.Later(time.Minute)
	if got = g.post("/oauth/token", g.refresh(got.Refresh)); got.Status != http.StatusOK {
		t.Errorf("a minute later: %+v, want Status %v", got, http.StatusOK)
	}
}

func TestUnusedInvitationStaysValid(t *testing.T) {
	g := newGate(t, `pat: {admission: allowlist, allow: ["n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"]}`)
	invitation, err := consent.Invite(t.Context(), g.Store, "default", "Ann", g.Now(), time.Hour)
	g.Must(err)
	b := g.browser()
	form := formOf(b.page(g.query(newPKCE())))
	form.Set("invitation", invitation.Code)
	chosen := form["scope"]
	form.Del("scope")
	if a := b.do(http.MethodPost, "/oauth/authorize", form); a.Status != http.StatusOK {
		t.Errorf("nothing chosen: %d, want %d", a.Status, http.StatusOK)
	}
	form["scope"] = chosen
	if sent := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", form)); sent.Get("code") == "" {
		t.Errorf("got %v", sent)
	}
}

// If a code or a refresh token is used several times concurrently, at most one use succeeds, and none after that.
func TestConcurrentUses(t *testing.T) {
	g := newGate(t, "")
	once := func(name string, form url.Values) {
		var group sync.WaitGroup
		got := make([]oauth, 6)
		for n := range got {
			group.Go(func() { got[n] = g.post("/oauth/token", form) })
		}
		group.Wait()
		good := 0
		for _, one := range got {
			if one.Status == http.StatusOK {
				good++
				if g.works(one.Access) {
					t.Errorf("%s: the token still works", name)
				}
				g.wants(name, g.post("/oauth/token", g.refresh(one.Refresh)), "invalid_grant")
			} else if one.Error != "invalid_grant" {
				t.Errorf("%s: got %+v; want Error %q", name, one, "invalid_grant")
			}
		}
		if good > 1 {
			t.Errorf("%s: %d succeeded; want at most 1", name, good)
		}
	}
	p := newPKCE()
	once("a code", g.exchange(g.code(p), p))
	once("a refresh token", g.refresh(g.tokens().Refresh))
}

// A refresh cannot widen the scope that the person permitted.
func TestRefreshNeverWidensScope(t *testing.T) {
	g := newGate(t, "")
	got := g.tokens()
	for _, scope := range []string{
		gatetest.Ordering, "shop.example:*:*:execute " + gatetest.Ordering, "shop.example:*:v1:execute", "*:*:*:execute",
	} {
		v := g.refresh(got.Refresh)
		v.Set("scope", scope)
		next := g.post("/oauth/token", v)
		if strings.Contains(next.Scope, "order") || strings.Contains(next.Scope, "*") {
			t.Errorf("%s: %+v", scope, next)
		}
		if next.Status == http.StatusOK {
			got = next
		}
	}
}
