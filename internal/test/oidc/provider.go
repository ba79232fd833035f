// Package oidctest is an OpenID Connect provider for tests: discovery, the authorization code flow with PKCE, UserInfo and logout, over
// HTTP on the loopback address. A person signs in with a form, and remains signed in at the provider through a cookie.
//
//	p := oidctest.Start(t, time.Now)
//	p.Person = oidctest.Person{Subject: "1", Claims: map[string]any{"groups": []string{"staff"}}}
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The client that every Provider knows.
const (
	ClientID     = "uimgate"
	ClientSecret = "client-secret-canary"
)

// A Person signs in at a Provider.
type Person struct {
	Subject  string
	Claims   map[string]any // of the ID token
	UserInfo map[string]any // of the UserInfo endpoint, in addition to the subject
}

// A Provider is a running provider. Its fields may be changed between requests, while the test holds no request open.
type Provider struct {
	*httptest.Server

	Person Person
	// Mint changes the claims of an ID token before it is signed. It may be nil.
	Mint func(jwt.MapClaims)
	// Metadata changes the metadata. It may be nil.
	Metadata func(map[string]any)
	// Away makes every response an error of the server.
	Away bool
	// Redirects are the URLs to which browsers may be sent, after signing in or out.
	Redirects []string

	t      *testing.T
	now    func() time.Time
	mu     sync.Mutex
	key    *ecdsa.PrivateKey
	keyID  string
	codes  map[string]grant
	tokens map[string]Person    // by access token
	known  map[string]time.Time // when the person of a cookie was authenticated
	serial int
}

// A grant is the sign-in that an authorization code identifies.
type grant struct {
	person                    Person
	redirect, nonce, verifier string
	at                        time.Time
}

// Start starts a provider that the test ends.
func Start(t *testing.T, now func() time.Time) *Provider {
	t.Helper()
	p := &Provider{
		t: t, now: now, codes: map[string]grant{}, tokens: map[string]Person{}, known: map[string]time.Time{},
		Person: Person{Subject: "person-1", Claims: map[string]any{"email": "ann@shop.example", "groups": []string{"staff"}}},
	}
	p.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.metadata)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /authorize", p.login)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userInfo)
	mux.HandleFunc("GET /logout", p.logout)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.Away {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// Do runs change while no request is served.
func (p *Provider) Do(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// Rotate replaces the key that signs ID tokens.
func (p *Provider) Rotate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	p.serial++
	p.key, p.keyID = key, "key-"+strconv.Itoa(p.serial)
}

// SignIn signs the person in at the URL to which the gateway has sent a browser, and returns the URL to which the provider sends it back.
func (p *Provider) SignIn(at string) string {
	p.t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		p.t.Fatal(err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm(p.URL+"/authorize", u.Query())
	if err != nil {
		p.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		p.t.Fatalf("the provider answers %d", resp.StatusCode)
	}
	return resp.Header.Get("Location")
}

func (p *Provider) metadata(w http.ResponseWriter, _ *http.Request) {
	m := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"userinfo_endpoint": p.URL + "/userinfo", "end_session_endpoint": p.URL + "/logout",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"ES256"}, "code_challenge_methods_supported": []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
	}
	if p.Metadata != nil {
		p.Metadata(m)
	}
	p.answer(w, http.StatusOK, m)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	text := func(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.FillBytes(make([]byte, 32))) }
	p.answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{
		"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": p.keyID, "x": text(p.key.X), "y": text(p.key.Y),
	}}})
}

var page = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><title>Provider</title>
<form method="post" action="/authorize">{{range $name, $values := .}}{{range $values}}<input type="hidden" name="{{$name}}" value="{{.}}">
{{end}}{{end}}<button id="login">Sign in</button></form></html>`))

// authorize asks the person to sign in or, if the person has done so and the gateway does not ask for it again, sends the browser back.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if c, err := r.Cookie("provider"); err == nil && q.Get("prompt") != "login" {
		if at, known := p.known[c.Value]; known {
			p.sendBack(w, r, q, at)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := page.Execute(w, q); err != nil {
		p.t.Error(err)
	}
}

func (p *Provider) login(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "form", http.StatusBadRequest)
		return
	}
	secret := rand.Text()
	p.known[secret] = p.now()
	http.SetCookie(w, &http.Cookie{Name: "provider", Value: secret, Path: "/", HttpOnly: true})
	p.sendBack(w, r, r.PostForm, p.now())
}

// sendBack sends the browser back with a code.
func (p *Provider) sendBack(w http.ResponseWriter, r *http.Request, q url.Values, authenticated time.Time) {
	redirect := q.Get("redirect_uri")
	if !p.redirects(redirect) || q.Get("client_id") != ClientID || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || !strings.Contains(" "+q.Get("scope")+" ", " openid ") {
		http.Error(w, "the request is not valid", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.codes[code] = grant{
		person: p.Person, redirect: redirect, nonce: q.Get("nonce"), verifier: q.Get("code_challenge"), at: authenticated,
	}
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}}
	http.Redirect(w, r, redirect+"?"+back.Encode(), http.StatusFound)
}

func (p *Provider) redirects(to string) bool { return slices.Contains(p.Redirects, to) }

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	refuse := func(code string) {
		p.answer(w, http.StatusBadRequest, map[string]any{"error": code, "error_description": "canary"})
	}
	id, secret, _ := r.BasicAuth()
	if id != ClientID || secret != ClientSecret {
		refuse("invalid_client")
		return
	}
	g, found := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !found || g.redirect != r.PostFormValue("redirect_uri") || g.verifier != base64.RawURLEncoding.EncodeToString(sum[:]) {
		refuse("invalid_grant")
		return
	}
	access := rand.Text()
	p.tokens[access] = g.person
	now := p.now()
	hash := sha256.Sum256([]byte(access))
	claims := jwt.MapClaims{
		"iss": p.URL, "sub": g.person.Subject, "aud": ClientID, "nonce": g.nonce, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
		"auth_time": g.at.Unix(), "at_hash": base64.RawURLEncoding.EncodeToString(hash[:len(hash)/2]),
	}
	maps.Copy(claims, g.person.Claims)
	if p.Mint != nil {
		p.Mint(claims)
	}
	t := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	t.Header["kid"] = p.keyID
	signed, err := t.SignedString(p.key)
	if err != nil {
		p.t.Error(err)
	}
	p.answer(w, http.StatusOK, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 60, "id_token": signed})
}

func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	person, known := p.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !known {
		http.Error(w, "token", http.StatusUnauthorized)
		return
	}
	out := map[string]any{"sub": person.Subject}
	maps.Copy(out, person.UserInfo)
	p.answer(w, http.StatusOK, out)
}

// logout ends the browser's session at the provider.
func (p *Provider) logout(w http.ResponseWriter, r *http.Request) {
	back := r.URL.Query().Get("post_logout_redirect_uri")
	if r.URL.Query().Get("client_id") != ClientID || !p.redirects(back) {
		http.Error(w, "the request is not valid", http.StatusBadRequest)
		return
	}
	if c, err := r.Cookie("provider"); err == nil {
		delete(p.known, c.Value)
	}
	http.Redirect(w, r, back, http.StatusFound)
}

func (p *Provider) answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		fmt.Fprintln(w, err)
	}
}
