package bindings_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// TestClientWithoutKey makes all requests of an MCP client, in their usual order.
func TestClientWithoutKey(t *testing.T) {
	g := newGate(t, "")
	var metadata struct {
		Resource string
		Servers  []string `json:"authorization_servers"`
	}
	challenge := g.Call("/mcp", "", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "search_v1"}}).Header.Get("Www-Authenticate")
	_, rest, _ := strings.Cut(challenge, `resource_metadata="`+origin)
	path, _, _ := strings.Cut(rest, `"`)
	g.Must(json.Unmarshal(g.Get(path).Body, &metadata))
	if metadata.Resource != resource || len(metadata.Servers) != 1 || metadata.Servers[0] != origin {
		t.Fatalf("%q leads to %+v; want Resource %v, Servers of length 1 and Servers[0] %v", challenge, metadata, resource, origin)
	}
	p, b := newPKCE(), g.browser()
	page := b.page(g.query(p))
	for _, want := range []string{
		"Assistant", "localhost", "program on this computer", "Search", "Your consent never costs anything", "1 left out",
		g.Directory.Current().Service("default").Offer().Digest, strings.TrimPrefix(g.client.URL, "https://"),
	} {
		if !strings.Contains(string(page.Body), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(page.Body), "order:v1:execute") {
		t.Error("the page offers an intent that charges")
	}
	sent := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", formOf(page)))
	if sent.Get("state") != "state & more" || sent.Get("iss") != origin || sent.Get("code") == "" {
		t.Fatalf("sent to the client: %v", sent)
	}
	got := g.post("/oauth/token", g.exchange(sent.Get("code"), p))
	if got.Status != http.StatusOK || got.Type != "Bearer" || got.Scope != gatetest.Searching+":execute" || got.Expires != 3600 ||
		got.Refresh == "" || got.CacheControl != "no-store" {
		t.Fatalf("got %+v", got)
	}
	if !g.works(got.Access) {
		t.Error("a call with the token fails")
	}
	answer := g.Call("/mcp", got.Access, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": gatetest.Searching, "arguments": map[string]any{"query": "lamp"},
	}}, "MCP-Protocol-Version", "2025-11-25")
	if answer.Status != http.StatusOK || strings.Contains(string(answer.Body), `"isError":true`) {
		t.Errorf("a tool: %d %.300s", answer.Status, answer.Body)
	}
	// The A2A card names this authorization too.
	task := g.Call("/a2a/v1/message:send", got.Access, map[string]any{"message": map[string]any{
		"messageId": "m-1", "role": "ROLE_USER",
		"parts": []any{map[string]any{"data": map[string]any{"intent_uid": gatetest.Searching, "parameters": map[string]any{"query": "lamp"}}}},
	}}, "A2A-Version", "1.0")
	if task.Status != http.StatusOK || !strings.Contains(string(task.Body), "TASK_STATE_COMPLETED") {
		t.Errorf("a task: %d %.300s", task.Status, task.Body)
	}
	a := g.Execute(&gatetest.Agent{Token: got.Access}, gatetest.Ordering)
	g.Refuses(a, http.StatusForbidden, "SCOPE_EXCEEDED")
	if !strings.Contains(string(a.Body), "its own key") || strings.Contains(string(a.Body), "scope_needed") {
		t.Errorf("the refusal suggests a consent that cannot help: %s", a.Body)
	}

	next := g.post("/oauth/token", g.refresh(got.Refresh))
	if next.Status != http.StatusOK || next.Refresh == got.Refresh || !g.works(next.Access) {
		t.Errorf("refreshed: %+v", next)
	}
}

func TestConsentEvidence(t *testing.T) {
	g := newGate(t, "")
	token := g.tokens().Access
	claims, err := g.Directory.Current().Service("default").Verifier.Verify(t.Context(), token, g.Now())
	g.Must(err)
	a, err := g.Store.Agreement(t.Context(), "default", claims.Agreement)
	g.Must(err)
	record, ok := a.Consent()
	if !ok || record.ClientID != g.client.ID() || record.ClientName != "Assistant" || record.RedirectHost != "localhost" ||
		record.Resource != resource || record.Address != "127.0.0.0/24" || record.UserAgent != "Test browser" ||
		!strings.HasPrefix(record.Page, "sha-256:") || !strings.HasPrefix(record.ClientDocument, "sha-256:") {
		t.Errorf("got %+v", record)
	}
	g.exportVerifies(a)
}

// exportVerifies reports an error unless the exported record of an agreement can be verified.
func (g *gate) exportVerifies(a pat.Agreement) {
	g.Helper()
	policy, err := g.Store.Policy(g.Context(), "default", a.PolicyDigest)
	g.Must(err)
	bundle, err := pat.Export(a, policy, bindings.Forms())
	g.Must(err)
	if _, err := pat.VerifyExport(bundle, bindings.Forms()); err != nil {
		g.Error(err)
	}
}

func TestMetadata(t *testing.T) {
	g := newGate(t, "")
	for path, member := range map[string]string{
		"/.well-known/oauth-protected-resource": "resource", "/.well-known/oauth-protected-resource/mcp": "resource",
		"/.well-known/oauth-authorization-server": "issuer", "/.well-known/oauth-authorization-server/mcp": "issuer",
	} {
		a := g.Get(path)
		var m map[string]any
		g.Must(json.Unmarshal(a.Body, &m))
		if want := map[string]string{"resource": resource, "issuer": origin}[member]; m[member] != want {
			t.Errorf("%s: %v is %v, want %s", path, member, m[member], want)
		}
		if a.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s is not readable by every web page", path)
		}
		if strings.Contains(string(a.Body), "offline_access") {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
	for _, path := range []string{
		"/.well-known/oauth-protected-resource/other", "/.well-known/oauth-protected-resource/mcp//", "/oauth/other",
	} {
		if a := g.Get(path); a.Status != http.StatusNotFound {
			t.Errorf("%s: %d, want %d", path, a.Status, http.StatusNotFound)
		}
	}
	var m struct {
		Methods []string `json:"code_challenge_methods_supported"`
		Grants  []string `json:"grant_types_supported"`
		Page    string   `json:"authorization_endpoint"`
	}
	g.Must(json.Unmarshal(g.Get("/.well-known/oauth-authorization-server").Body, &m))
	if len(m.Methods) != 1 || m.Methods[0] != "S256" || len(m.Grants) != 3 || m.Page != origin+"/oauth/authorize" {
		t.Errorf("got %+v; want Methods of length 1, Methods[0] %q, Grants of length 3 and Page %v", m, "S256", origin+"/oauth/authorize")
	}
}

// Errors that the client may not see are shown only to the person. The gateway never redirects a browser to a URI that the client did not
// register.
func TestRejectedAuthorizationRequests(t *testing.T) {
	g := newGate(t, "")
	set := func(name, value string) func(url.Values) { return func(v url.Values) { v.Set(name, value) } }
	for name, change := range map[string]func(url.Values){
		"another redirect URI":          set("redirect_uri", "https://evil.example/cb"),
		"one slash more":                set("redirect_uri", callback+"/"),
		"another loopback name":         set("redirect_uri", "http://127.0.0.1:49152/callback"),
		"another case":                  set("redirect_uri", "http://localhost:49152/Callback"),
		"an unregistered port":          set("redirect_uri", "https://assistant.example:8443/cb?x=1"),
		"a fragment":                    set("redirect_uri", callback+"#x"),
		"a user name":                   set("redirect_uri", "http://localhost@evil.example/callback"),
		"no redirect URI":               set("redirect_uri", ""),
		"an unknown client":             set("client_id", "nobody"),
		"a client over http":            set("client_id", strings.Replace(g.client.ID(), "https:", "http:", 1)),
		"a client without a path":       set("client_id", g.client.URL),
		"a client_id with dot segments": set("client_id", g.client.URL+"/x/../client.json"),
		"a duplicate parameter":         func(v url.Values) { v.Add("client_id", v.Get("client_id")) },
		"a long state":                  set("state", strings.Repeat("s", 2049)),
	} {
		a := g.browser().do(http.MethodGet, "/oauth/authorize?"+g.query(newPKCE(), change).Encode(), nil)
		if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" || strings.Contains(string(a.Body), "<form") ||
			a.Header.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: %d to %q", name, a.Status, a.Header.Get("Location"))
		}
	}
	for name, tt := range map[string]struct {
		change func(url.Values)
		want   string
	}{
		"no PKCE":                 {set("code_challenge", ""), "invalid_request"},
		"plain PKCE":              {set("code_challenge_method", "plain"), "invalid_request"},
		"response_type token":     {set("response_type", "token"), "unsupported_response_type"},
		"another resource":        {set("resource", "https://other.example/mcp"), "invalid_target"},
		"an additional slash":     {set("resource", resource+"/"), "invalid_target"},
		"an unoffered intent":     {set("scope", "shop.example:other:v1:execute"), "invalid_scope"},
		"an intent that charges":  {set("scope", gatetest.Ordering+":execute"), "invalid_scope"},
		"a scope without intents": {set("scope", "openid email"), "invalid_scope"},
	} {
		sent := g.sentTo(g.browser().do(http.MethodGet, "/oauth/authorize?"+g.query(newPKCE(), tt.change).Encode(), nil))
		if sent.Get("error") != tt.want || sent.Get("code") != "" || sent.Get("iss") != origin || sent.Get("state") != "state & more" {
			t.Errorf("%s: %v, want %s", name, sent, tt.want)
		}
	}
	for name, change := range map[string]func(url.Values){
		"another port":         set("redirect_uri", "http://localhost:1/callback"),
		"no port":              set("redirect_uri", "http://localhost/callback"),
		"one with a query":     set("redirect_uri", "https://assistant.example/cb?x=1"),
		"no resource":          func(v url.Values) { v.Del("resource") },
		"no scope":             func(v url.Values) { v.Del("scope") },
		"an unknown parameter": set("prompt", "consent"),
	} {
		if a := g.browser().page(g.query(newPKCE(), change)); !strings.Contains(string(a.Body), "<form") {
			t.Errorf("%s: %.300s", name, a.Body)
		}
	}
}

func TestPageCannotBeFramedOrForged(t *testing.T) {
	g := newGate(t, "")
	b := g.browser()
	page := b.page(g.query(newPKCE()))
	policy := page.Header.Get("Content-Security-Policy")
	for _, want := range []string{
		"default-src 'none'", "frame-ancestors 'none'", "form-action 'self' http://localhost:49152", "base-uri 'none'",
	} {
		if !strings.Contains(policy, want) {
			t.Errorf("%q lacks %q", policy, want)
		}
	}
	if page.Header.Get("Referrer-Policy") != "no-referrer" || page.Header.Get("Cache-Control") != "no-store" ||
		page.Header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("got %v", page.Header)
	}
	cookie := b.cookie
	if set := page.Header.Get("Set-Cookie"); !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Lax") {
		t.Errorf("the cookie: %s", set)
	}
	good := formOf(page)
	for name, forge := range map[string]func(*browser, url.Values){
		"no cookie":                        func(b *browser, _ url.Values) { b.cookie = "" },
		"another browser":                  func(b *browser, _ url.Values) { b.cookie = ""; b.page(g.query(newPKCE())) },
		"a forged cookie":                  func(b *browser, _ url.Values) { b.cookie = "uim-consent=x" },
		"a duplicate cookie":               func(b *browser, _ url.Values) { b.cookie += "; " + b.cookie },
		"no ticket":                        func(_ *browser, v url.Values) { v.Del("ticket") },
		"another challenge":                func(_ *browser, v url.Values) { v.Set("code_challenge", newPKCE().challenge) },
		"another state":                    func(_ *browser, v url.Values) { v.Set("state", "x") },
		"another redirect":                 func(_ *browser, v url.Values) { v.Set("redirect_uri", "http://localhost:1/callback") },
		"another site":                     func(b *browser, _ url.Values) { b.header["Sec-Fetch-Site"] = "cross-site" },
		"another host of the gateway":      func(b *browser, _ url.Values) { b.header["Sec-Fetch-Site"] = "same-site" },
		"another requested scope":          func(_ *browser, v url.Values) { v.Set("requested", gatetest.Searching+":execute") },
		"a scope that was not shown":       func(_ *browser, v url.Values) { v.Set("scope", gatetest.Ordering+":execute") },
		"no scope at all":                  func(_ *browser, v url.Values) { v.Del("scope") },
		"no decision":                      func(_ *browser, v url.Values) { v.Del("decision") },
		"a duplicate parameter":            func(_ *browser, v url.Values) { v.Add("state", "x") },
		"a content type other than a form": func(b *browser, _ url.Values) { b.header["Content-Type"] = "text/plain" },
		"a body of 1 MB":                   func(_ *browser, v url.Values) { v.Set("x", strings.Repeat("x", 1<<20)) },
	} {
		form := url.Values{}
		for k, v := range good {
			form[k] = append([]string(nil), v...)
		}
		other := &browser{g, cookie, map[string]string{"Sec-Fetch-Site": "same-origin"}}
		forge(other, form)
		if a := other.do(http.MethodPost, "/oauth/authorize", form); a.Header.Get("Location") != "" || a.Status == http.StatusSeeOther {
			t.Errorf("%s: %d to %q", name, a.Status, a.Header.Get("Location"))
		}
	}
	if sent := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", good)); sent.Get("code") == "" {
		t.Errorf("the form as it was: %v", sent)
	}
	leave := formOf(b.page(g.query(newPKCE())))
	leave.Set("decision", "leave")
	if sent := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", leave)); sent.Get("error") != "access_denied" {
		t.Errorf("leaving: %v", sent)
	}
}

func TestChangedPageIsShownAgain(t *testing.T) {
	for name, change := range map[string]func(*gate){
		"the policy": (*gate).changePolicy,
		"the client's document": func(g *gate) {
			g.client.says(func(m map[string]any) { m["client_name"] = "Somebody else" })
			g.Later(10 * time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, "")
			b := g.browser()
			form := formOf(b.page(g.query(newPKCE())))
			change(g)
			again := b.do(http.MethodPost, "/oauth/authorize", form)
			if again.Status != http.StatusOK || !strings.Contains(string(again.Body), "Please check again") {
				t.Fatalf("got %d %.300s", again.Status, again.Body)
			}
			if sent := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", formOf(again))); sent.Get("code") == "" {
				t.Errorf("after agreeing to the new page: %v", sent)
			}
		})
	}
}

func TestRefusedCodes(t *testing.T) {
	g := newGate(t, "")
	p := newPKCE()
	set := func(name, value string) func(url.Values) { return func(v url.Values) { v.Set(name, value) } }
	code := g.code(p)
	for name, tt := range map[string]struct {
		change func(url.Values)
		want   string
	}{
		"another verifier":          {set("code_verifier", newPKCE().verifier), "invalid_grant"},
		"no verifier":               {set("code_verifier", ""), "invalid_grant"},
		"the challenge itself":      {set("code_verifier", p.challenge), "invalid_grant"},
		"another client":            {set("client_id", "https://other.example/client.json"), "invalid_grant"},
		"a longer redirect URI":     {set("redirect_uri", callback+"/"), "invalid_grant"},
		"another port":              {set("redirect_uri", "http://localhost:1/callback"), "invalid_grant"},
		"another resource":          {set("resource", "https://other.example/mcp"), "invalid_target"},
		"another secret":            {set("code", code[:len(code)-4]+"AAAA"), "invalid_grant"},
		"the code as refresh token": {func(v url.Values) { v.Set("grant_type", "refresh_token"); v.Set("refresh_token", code) }, "invalid_grant"},
		"nonsense":                  {set("code", "x"), "invalid_grant"},
		"a duplicate parameter":     {func(v url.Values) { v.Add("code", code) }, "invalid_request"},
		"another grant":             {set("grant_type", "password"), "unsupported_grant_type"},
	} {
		v := g.exchange(code, p)
		tt.change(v)
		g.wants(name, g.post("/oauth/token", v), tt.want)
	}
	first := g.post("/oauth/token", g.exchange(code, p))
	if first.Status != http.StatusOK || !g.works(first.Access) {
		t.Fatalf("a refused request used the code up: %+v", first)
	}
	g.wants("a second time", g.post("/oauth/token", g.exchange(code, p)), "invalid_grant")
	if g.works(first.Access) {
		t.Error("the token of a code that was used twice still works")
	}
	g.wants("its refresh token", g.post("/oauth/token", g.refresh(first.Refresh)), "invalid_grant")

	late := g.code(p)
	g.Later(time.Minute)
	g.wants("after a minute", g.post("/oauth/token", g.exchange(late, p)), "invalid_grant")

	changed := g.code(p)
	g.client.says(func(m map[string]any) { m["logo_uri"] = "https://assistant.example/logo.png" })
	g.Later(0)
	if a := g.post("/oauth/token", g.exchange(changed, p)); a.Status != http.StatusOK {
		t.Errorf("the document is not cached: %+v", a)
	}
	before := g.code(p)
	g.changePolicy()
	g.wants("after the policy changed", g.post("/oauth/token", g.exchange(before, p)), "invalid_grant")
}

// Another process may fetch the document again: then its current contents apply.
func TestDocumentChangesBeforeToken(t *testing.T) {
	g := newGate(t, "")
	p := newPKCE()
	g.client.set(func(http.ResponseWriter, *http.Request) {})
	g.client.says(func(map[string]any) {})
	b := g.browser()
	form := formOf(b.page(g.query(p)))
	g.Later(5*time.Minute - time.Second)
	code := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", form)).Get("code")
	g.client.says(func(m map[string]any) { m["redirect_uris"] = []string{"https://evil.example/cb"} })
	g.Later(2 * time.Second)
	g.wants("another document", g.post("/oauth/token", g.exchange(code, p)), "invalid_grant")
}

func TestRefreshTokensRotate(t *testing.T) {
	g := newGate(t, "")
	first := g.tokens()
	g.wants("of another client", g.post("/oauth/token", func() url.Values {
		v := g.refresh(first.Refresh)
		v.Set("client_id", "https://other.example/client.json")
		return v
	}()), "invalid_grant")
	second := g.post("/oauth/token", g.refresh(first.Refresh))
	third := g.post("/oauth/token", g.refresh(second.Refresh))
	if third.Status != http.StatusOK || third.Scope != first.Scope || !g.works(third.Access) {
		t.Fatalf("got %+v", third)
	}
	g.wants("wider than consented", g.post("/oauth/token", func() url.Values {
		v := g.refresh(third.Refresh)
		v.Set("scope", gatetest.Ordering+":execute")
		return v
	}()), "invalid_scope")
	g.wants("an old one", g.post("/oauth/token", g.refresh(first.Refresh)), "invalid_grant")
	if g.works(third.Access) {
		t.Error("the replay of a refresh token did not revoke the consent")
	}
	g.wants("the newest, after the replay", g.post("/oauth/token", g.refresh(third.Refresh)), "invalid_grant")

	other := g.tokens()
	g.Later(30*24*time.Hour - time.Hour)
	other = g.post("/oauth/token", g.refresh(other.Refresh))
	if other.Status != http.StatusOK {
		t.Fatalf("within 30 days: %+v, want Status %v", other, http.StatusOK)
	}
	g.Later(time.Hour)
	g.wants("after 30 days", g.post("/oauth/token", g.refresh(other.Refresh)), "invalid_grant")
	last := g.tokens()
	g.changePrice()
	if last = g.post("/oauth/token", g.refresh(last.Refresh)); last.Status != http.StatusOK || !g.works(last.Access) {
		t.Errorf("after the price of another intent changed: %+v", last)
	}
	g.changePolicy()
	g.wants("after the policy changed", g.post("/oauth/token", g.refresh(last.Refresh)), "invalid_grant")
	if g.works(last.Access) {
		t.Error("the token outlives the policy")
	}
}

func TestConsentIsRevoked(t *testing.T) {
	g := newGate(t, "")
	for name, token := range map[string]func(oauth) string{
		"by the refresh token": func(o oauth) string { return o.Refresh }, "by the access token": func(o oauth) string { return o.Access },
	} {
		got := g.tokens()
		if a := g.post("/oauth/revoke", url.Values{"token": {token(got)}}); a.Status != http.StatusOK {
			t.Errorf("%s: got %+v; want Status %v", name, a, http.StatusOK)
		}
		if g.works(got.Access) {
			t.Errorf("%s: the access token still works", name)
		}
		g.wants(name, g.post("/oauth/token", g.refresh(got.Refresh)), "invalid_grant")
	}
	good := g.tokens()
	for _, token := range []string{"nonsense", good.Refresh[:len(good.Refresh)-4] + "AAAA"} {
		if a := g.post("/oauth/revoke", url.Values{"token": {token}}); a.Status != http.StatusOK {
			t.Errorf("an invalid token: %+v, want Status %v", a, http.StatusOK)
		}
	}
	if !g.works(good.Access) {
		t.Error("an invalid token revoked another consent")
	}
	g.wants("nothing", g.post("/oauth/revoke", url.Values{}), "invalid_request")
}
