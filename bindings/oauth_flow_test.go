package bindings_test

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

const (
	origin   = "http://127.0.0.1:8080" // public_url of the gate
	resource = origin + "/mcp"
	callback = "http://localhost:49152/callback"
)

// A site is a client's website with its metadata document.
type site struct {
	*httptest.Server
	mu      sync.Mutex
	serve   http.HandlerFunc
	fetched int
}

// ID returns the client_id of the site.
func (s *site) ID() string { return s.URL + "/client.json" }

func (s *site) set(serve http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serve = serve
}

// says makes the site serve a document that change may alter.
func (s *site) says(change func(map[string]any)) {
	document := map[string]any{
		"client_id": s.ID(), "client_name": "Assistant",
		"redirect_uris":              []string{"http://localhost/callback", "https://assistant.example/cb?x=1"},
		"token_endpoint_auth_method": "none",
	}
	change(document)
	s.set(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(document) })
}

// A gate is a gateway and the website of a client.
type gate struct {
	*gatetest.Gate
	client *site
}

func newGate(t *testing.T, settings string, prepare ...func(*gatetest.Gate)) *gate {
	t.Helper()
	return newGateWaiting(t, time.Minute, settings, prepare...)
}

// newGateWaiting is newGate with a timeout for requests to the client's website.
func newGateWaiting(t *testing.T, patience time.Duration, settings string, prepare ...func(*gatetest.Gate)) *gate {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.fetched++
		serve := s.serve
		s.mu.Unlock()
		serve(w, r)
	}))
	t.Cleanup(s.Close)
	s.says(func(map[string]any) {})
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	documents := fetch.New(fetch.Options{Timeout: patience, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}})
	prepare = append(prepare, func(g *gatetest.Gate) { g.Documents = documents })
	if settings != "" && !strings.Contains(settings, "services:") {
		settings += "\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, " + gatetest.Unproved + "}\n"
	}
	return &gate{gatetest.New(t, settings, prepare...), s}
}

// A browser makes requests and keeps its cookie.
type browser struct {
	*gate
	cookie string
	header map[string]string
}

func (g *gate) browser() *browser {
	return &browser{g, "", map[string]string{"Sec-Fetch-Site": "same-origin"}}
}

func (b *browser) do(method, path string, form url.Values) gatetest.Answer {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.URL+path, strings.NewReader(form.Encode()))
	b.Must(err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for name, value := range b.header {
			r.Header.Set(name, value)
		}
	}
	r.Header.Set("User-Agent", "Test browser")
	if b.cookie != "" {
		r.Header.Set("Cookie", b.cookie)
	}
	a := b.Send(r)
	if set := a.Header.Get("Set-Cookie"); set != "" {
		b.cookie, _, _ = strings.Cut(set, ";")
	}
	return a
}

// A pkce is a verifier and its challenge.
type pkce struct{ verifier, challenge string }

func newPKCE() pkce {
	verifier := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	return pkce{verifier, base64.RawURLEncoding.EncodeToString(sum[:])}
}

// resource returns the URL of the MCP endpoint.
func (g *gate) resource() string {
	if s := g.Directory.Current().Service("default"); s != nil {
		return s.PublicURL.String() + "/mcp"
	}
	return resource
}

// query returns an authorization request of the client that change may alter.
func (g *gate) query(p pkce, change ...func(url.Values)) url.Values {
	v := url.Values{
		"response_type": {"code"}, "client_id": {g.client.ID()}, "redirect_uri": {callback}, "state": {"state & more"},
		"code_challenge": {p.challenge}, "code_challenge_method": {"S256"}, "resource": {g.resource()}, "scope": {"shop.example:*:*:execute"},
	}
	for _, f := range change {
		f(v)
	}
	return v
}

var (
	hidden  = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
	checked = regexp.MustCompile(`<input type="checkbox" name="scope" value="([^"]*)" checked>`)
)

// formOf returns the form that a browser sends when a person agrees without changes.
func formOf(a gatetest.Answer) url.Values {
	v := url.Values{"decision": {"agree"}}
	for _, m := range hidden.FindAllStringSubmatch(string(a.Body), -1) {
		v.Add(m[1], html.UnescapeString(m[2]))
	}
	for _, m := range checked.FindAllStringSubmatch(string(a.Body), -1) {
		v.Add("scope", html.UnescapeString(m[1]))
	}
	return v
}

// page requests the consent page.
func (b *browser) page(q url.Values) gatetest.Answer {
	b.Helper()
	a := b.do(http.MethodGet, "/oauth/authorize?"+q.Encode(), nil)
	if a.Status != http.StatusOK {
		b.Fatalf("the page: %d %s %.600s; want %v", a.Status, a.Header.Get("Location"), a.Body, http.StatusOK)
	}
	return a
}

// sentTo reads the redirect to the client.
func (g *gate) sentTo(a gatetest.Answer) url.Values {
	g.Helper()
	u, err := url.Parse(a.Header.Get("Location"))
	g.Must(err)
	if a.Status != http.StatusSeeOther || u.Host != "localhost:49152" || u.Path != "/callback" {
		g.Fatalf("%d to %q %.800s; want a redirect to the client", a.Status, a.Header.Get("Location"), a.Body)
	}
	return u.Query()
}

// code makes a person agree and returns the code.
func (g *gate) code(p pkce, change ...func(url.Values)) string {
	g.Helper()
	b := g.browser()
	return g.sentTo(b.do(http.MethodPost, "/oauth/authorize", formOf(b.page(g.query(p, change...))))).Get("code")
}

// An oauth is a JSON response.
type oauth struct {
	Status       int
	Access       string `json:"access_token"`
	Refresh      string `json:"refresh_token"`
	Type         string `json:"token_type"`
	Scope        string
	Expires      int    `json:"expires_in"`
	Error        string `json:"error"`
	Description  string `json:"error_description"`
	ClientID     string `json:"client_id"`
	CacheControl string `json:"-"`
}

func (g *gate) post(path string, form url.Values) oauth {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), http.MethodPost, g.URL+path, strings.NewReader(form.Encode()))
	g.Must(err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return g.oauth(g.Send(r))
}

func (g *gate) oauth(a gatetest.Answer) oauth {
	g.Helper()
	o := oauth{Status: a.Status, CacheControl: a.Header.Get("Cache-Control")}
	if len(a.Body) > 0 {
		g.Must(json.Unmarshal(a.Body, &o))
	}
	return o
}

// exchange returns the request that exchanges a code for tokens.
func (g *gate) exchange(code string, p pkce) url.Values {
	return url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}, "client_id": {g.client.ID()},
		"code_verifier": {p.verifier}, "resource": {g.resource()},
	}
}

func (g *gate) refresh(token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {g.client.ID()}, "resource": {g.resource()}}
}

// tokens returns the tokens of a new consent.
func (g *gate) tokens() oauth {
	g.Helper()
	p := newPKCE()
	got := g.post("/oauth/token", g.exchange(g.code(p), p))
	if got.Status != http.StatusOK {
		g.Fatalf("got %+v, want Status %v", got, http.StatusOK)
	}
	return got
}

// works reports whether a call with an access token succeeds.
func (g *gate) works(token string) bool {
	g.Helper()
	g.Must(g.View.Refresh(g.Context()))
	return g.Execute(&gatetest.Agent{Token: token}, gatetest.Searching).Status == http.StatusOK
}

// changePolicy makes the service offer a policy with other terms for every intent.
func (g *gate) changePolicy() {
	g.Helper()
	g.offer(strings.Replace(gatetest.PolicyFile, `"permission": [`, `"obligation": [{"action": "inform"}], "permission": [`, 1))
}

// changePrice makes the service offer a policy with another price of the order, and the same terms for the search.
func (g *gate) changePrice() {
	g.Helper()
	g.offer(strings.Replace(gatetest.PolicyFile, `"0.25"`, `"0.50"`, 1))
}

func (g *gate) offer(policy string) {
	g.Helper()
	if policy == gatetest.PolicyFile {
		g.Fatal("the policy is the same")
	}
	g.Write("policy.json", policy)
	g.Reload()
}

// wants checks that a response has an OAuth error code.
func (g *gate) wants(name string, got oauth, code string) {
	g.Helper()
	if got.Error != code || got.Access != "" || got.Status < 400 || got.CacheControl != "no-store" {
		g.Errorf("%s: %+v; want %s", name, got, code)
	}
}
