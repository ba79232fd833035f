package oidc_test

import (
	"errors"
	"maps"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/oidc"
	oidctest "github.com/uimgate/uimgate/internal/test/oidc"
)

const back = "https://console.shop.example/console/oidc"

// A site is a provider, and a client of it with a clock.
type site struct {
	*testing.T
	at       *oidctest.Provider
	client   *oidc.Provider
	options  oidc.Options
	advanced atomic.Int64
}

func (s *site) now() time.Time { return time.Now().Add(time.Duration(s.advanced.Load())) }
func (s *site) pass(d time.Duration) {
	s.advanced.Add(int64(d))
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t}
	s.at = oidctest.Start(t, s.now)
	s.at.Redirects = []string{back}
	redirect, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	s.options = oidc.Options{
		Issuer: s.at.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Scopes: []string{"email"}, Redirect: redirect, Now: s.now,
		Roles: []oidc.Role{{"viewer", []string{"staff"}}, {"operator", []string{"ops", "on-call"}}, {"admin", []string{"root"}}},
	}
	s.client = oidc.New(s.options)
	t.Cleanup(s.client.Close)
	return s
}

// signedIn begins a sign-in, and returns the cookie and the query with which the provider sends the browser back.
func (s *site) signedIn(a oidc.Attempt) (cookie string, query url.Values) {
	s.Helper()
	to, cookie, err := s.client.Begin(s.Context(), a)
	if err != nil {
		s.Fatal(err)
	}
	u, err := url.Parse(s.at.SignIn(to))
	if err != nil {
		s.Fatal(err)
	}
	return cookie, u.Query()
}

func (s *site) finish(a oidc.Attempt) (oidc.Person, error) {
	s.Helper()
	cookie, query := s.signedIn(a)
	return s.client.Finish(s.Context(), cookie, query)
}

func TestRolesAndNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims, info map[string]any
		claim        string
		role, person string
	}{
		"one group":                {claims: map[string]any{"groups": []string{"staff", "other"}}, role: "viewer", person: "person-1"},
		"the highest role":         {claims: map[string]any{"groups": []string{"root", "on-call", "staff"}}, role: "admin", person: "person-1"},
		"groups and roles":         {claims: map[string]any{"groups": []string{"staff"}, "roles": []string{"ops"}}, role: "operator", person: "person-1"},
		"a text instead of a list": {claims: map[string]any{"roles": "ops"}, role: "operator", person: "person-1"},
		"no group":                 {claims: map[string]any{"groups": []string{"Staff", "staff "}}, person: "person-1"},
		"no claim":                 {person: "person-1"},
		"a claim of another type":  {claims: map[string]any{"groups": map[string]any{"staff": true}}, person: "person-1"},
		"another claim":            {claims: map[string]any{"groups": []string{"root"}, "teams": []string{"staff"}}, claim: "teams", role: "viewer", person: "person-1"},
		"a nested claim": {
			claims: map[string]any{"realm_access": map[string]any{"roles": []string{"ops"}}}, claim: "/realm_access/roles", role: "operator",
			person: "person-1",
		},
		"of UserInfo": {
			claims: map[string]any{"preferred_username": "ann"}, info: map[string]any{"groups": []string{"ops"}, "email": "ann@shop.example"},
			role: "operator", person: "ann@shop.example",
		},
		"UserInfo is not asked if the ID token has the claim": {
			claims: map[string]any{"groups": []string{"staff"}}, info: map[string]any{"groups": []string{"root"}}, role: "viewer",
			person: "person-1",
		},
		"an address that is not verified": {
			claims: map[string]any{
				"groups": []string{"staff"}, "email": "boss@shop.example", "email_verified": false, "preferred_username": "ann",
			},
			role: "viewer", person: "ann",
		},
		"hidden characters": {
			claims: map[string]any{"groups": []string{"staff"}, "email": " ann\u202e\x07@shop.example\n"}, role: "viewer",
			person: "ann@shop.example",
		},
		"a long name": {
			claims: map[string]any{"groups": []string{"staff"}, "email": strings.Repeat("ä", 300)}, role: "viewer",
			person: strings.Repeat("ä", 200),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.at.Person = oidctest.Person{Subject: "person-1", Claims: c.claims, UserInfo: c.info}
			s.options.Claim = c.claim
			s.client = oidc.New(s.options)
			p, err := s.finish(oidc.Attempt{Next: "/console/calls"})
			if (c.role == "") != errors.Is(err, oidc.ErrNoRole) || c.role != "" && err != nil {
				t.Errorf("the error is %v", err)
			}
			if p.Role != c.role || p.Name != c.person || p.Subject != "person-1" || p.Attempt.Next != "/console/calls" {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestIDTokensThatAreNotValid(t *testing.T) {
	t.Parallel()
	for name, mint := range map[string]func(jwt.MapClaims){
		"another nonce":             func(c jwt.MapClaims) { c["nonce"] = "x" },
		"no nonce":                  func(c jwt.MapClaims) { delete(c, "nonce") },
		"another audience":          func(c jwt.MapClaims) { c["aud"] = "other" },
		"an audience without azp":   func(c jwt.MapClaims) { c["aud"] = []string{oidctest.ClientID, "other"} },
		"another azp":               func(c jwt.MapClaims) { c["azp"] = "other" },
		"another issuer":            func(c jwt.MapClaims) { c["iss"] = "https://id.example" },
		"expired":                   func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Second).Unix() },
		"not valid yet":             func(c jwt.MapClaims) { c["nbf"] = time.Now().Add(time.Hour).Unix() },
		"no subject":                func(c jwt.MapClaims) { delete(c, "sub") },
		"another access token":      func(c jwt.MapClaims) { c["at_hash"] = "x" },
		"authenticated in a while":  func(c jwt.MapClaims) { c["auth_time"] = time.Now().Add(time.Hour).Unix() },
		"the subject is very large": func(c jwt.MapClaims) { c["sub"] = strings.Repeat("x", 2000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.at.Mint = mint
			p, err := s.finish(oidc.Attempt{})
			if !errors.Is(err, oidc.ErrIdentity) || p.Role != "" {
				t.Errorf("got %+v, %v", p, err)
			}
		})
	}
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cookie, query := s.signedIn(oidc.Attempt{})
	other, otherQuery := s.signedIn(oidc.Attempt{})
	changed := func(name, value string) url.Values {
		q := maps.Clone(query)
		q.Set(name, value)
		return q
	}
	foreign := s.options
	foreign.ClientSecret = "another"
	for name, c := range map[string]struct {
		client *oidc.Provider
		cookie string
		query  url.Values
		want   error
	}{
		"no cookie":                     {s.client, "", query, oidc.ErrAttempt},
		"a malformed cookie":            {s.client, "x.y", query, oidc.ErrAttempt},
		"the state of another browser":  {s.client, cookie, otherQuery, oidc.ErrAttempt},
		"the cookie of another browser": {s.client, other, query, oidc.ErrAttempt},
		"no state":                      {s.client, cookie, changed("state", ""), oidc.ErrAttempt},
		"a gateway with another secret": {oidc.New(foreign), cookie, query, oidc.ErrAttempt},
		"an edited cookie":              {s.client, "e" + cookie, query, oidc.ErrAttempt},
		"a very long cookie":            {s.client, strings.Repeat("x", 5000), query, oidc.ErrAttempt},
	} {
		if _, err := c.client.Finish(t.Context(), c.cookie, c.query); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, err := s.client.Finish(t.Context(), cookie, query); err != nil || p.Role != "viewer" {
		t.Fatalf("the first use: %+v, %v", p, err)
	}
	if _, err := s.client.Finish(t.Context(), cookie, query); !errors.Is(err, oidc.ErrAttempt) {
		t.Errorf("the second use: %v", err)
	}
	if _, err := oidc.New(s.options).Finish(t.Context(), cookie, query); !errors.Is(err, oidc.ErrDenied) {
		t.Errorf("the second use at another replica: %v", err)
	}
	for name, c := range map[string]struct {
		param, value string
		want         error
		text         string
	}{
		"another issuer":          {"iss", "https://id.example", oidc.ErrAttempt, "issuer"},
		"no issuer":               {"iss", "", oidc.ErrAttempt, "issuer"},
		"an error":                {"error", "access_denied", oidc.ErrDenied, "access_denied"},
		"an error with text":      {"error", "<b>canary", oidc.ErrDenied, "an unknown error"},
		"no code":                 {"code", "", oidc.ErrDenied, "no code"},
		"a very long code":        {"code", strings.Repeat("x", 9000), oidc.ErrDenied, "no code"},
		"a code that is not ours": {"code", "x", oidc.ErrDenied, "invalid_grant"},
	} {
		cookie, query = s.signedIn(oidc.Attempt{})
		_, err := s.client.Finish(t.Context(), cookie, changed(c.param, c.value))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	cookie, query = s.signedIn(oidc.Attempt{})
	s.pass(oidc.AttemptTime + time.Second)
	if _, err := s.client.Finish(t.Context(), cookie, query); !errors.Is(err, oidc.ErrAttempt) {
		t.Errorf("after AttemptTime: %v", err)
	}
}

// The signature of an ID token cannot be checked if the keys cannot be fetched: that is not the fault of the token.
func TestKeysThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	for name, uri := range map[string]string{"a closed port": "http://127.0.0.1:1/keys", "no such page": ""} {
		s := newSite(t)
		if uri == "" {
			uri = s.at.URL + "/nowhere"
		}
		s.at.Metadata = func(m map[string]any) { m["jwks_uri"] = uri }
		if p, err := s.finish(oidc.Attempt{}); !errors.Is(err, oidc.ErrAway) || p.Role != "" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestProvingAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	to, _, err := s.client.Begin(t.Context(), oidc.Attempt{Session: "one"})
	if err != nil || !strings.Contains(to, "prompt=login") || !strings.Contains(to, "max_age=0") {
		t.Errorf("got %s, %v", to, err)
	}
	p, err := s.finish(oidc.Attempt{Session: "one"})
	if err != nil || p.Attempt.Session != "one" || s.now().Sub(p.AuthenticatedAt).Abs() > 2*time.Second {
		t.Errorf("got %+v, %v", p, err)
	}
	for name, mint := range map[string]func(jwt.MapClaims){
		"authenticated before": func(c jwt.MapClaims) { c["auth_time"] = s.now().Add(-2 * time.Minute).Unix() },
		"not reported":         func(c jwt.MapClaims) { delete(c, "auth_time") },
		"not a time":           func(c jwt.MapClaims) { c["auth_time"] = "now" },
	} {
		s.at.Mint = mint
		if _, err := s.finish(oidc.Attempt{Session: "one"}); !errors.Is(err, oidc.ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.finish(oidc.Attempt{}); err != nil {
			t.Errorf("%s, without a session: %v", name, err)
		}
	}
}

func TestProvidersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		metadata func(map[string]any)
		want     string
	}{
		"another issuer":           {func(m map[string]any) { m["issuer"] = "https://id.example" }, "its issuer differs from admin.oidc.issuer"},
		"no authorization":         {func(m map[string]any) { delete(m, "authorization_endpoint") }, "authorization_endpoint"},
		"a script":                 {func(m map[string]any) { m["authorization_endpoint"] = "javascript:alert(1)" }, "authorization_endpoint"},
		"a token endpoint inside":  {func(m map[string]any) { m["token_endpoint"] = "https://10.0.0.1/" }, "token_endpoint"},
		"keys without encryption":  {func(m map[string]any) { m["jwks_uri"] = "http://id.example/keys" }, "jwks_uri"},
		"only symmetric algorithm": {func(m map[string]any) { m["id_token_signing_alg_values_supported"] = []string{"HS256", "none"} }, "none of RS256"},
		"no JSON of metadata":      {func(m map[string]any) { m["issuer"] = 5 }, "did not respond with valid metadata"},
		"very large":               {func(m map[string]any) { m["x"] = strings.Repeat("x", 1<<20) }, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.at.Metadata = c.metadata
			_, _, err := s.client.Begin(t.Context(), oidc.Attempt{})
			if !errors.Is(err, oidc.ErrAway) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	s := newSite(t)
	s.options.ClientSecret = "wrong"
	s.client = oidc.New(s.options)
	if _, err := s.finish(oidc.Attempt{}); !errors.Is(err, oidc.ErrAway) || !strings.Contains(err.Error(), "client_secret") {
		t.Errorf("a wrong secret: %v", err)
	}
}

func TestTheProviderIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.at.Away = true
	for range 2 {
		if err := s.client.Discover(t.Context()); !errors.Is(err, oidc.ErrAway) || s.client.Away() == nil {
			t.Errorf("got %v, %v", err, s.client.Away())
		}
	}
	s.at.Do(func() { s.at.Away = false })
	s.pass(time.Minute)
	if _, err := s.finish(oidc.Attempt{}); err != nil || s.client.Away() != nil {
		t.Errorf("when it is back: %v, %v", err, s.client.Away())
	}
	cookie, query := s.signedIn(oidc.Attempt{})
	s.at.Do(func() { s.at.Away = true })
	s.pass(2 * time.Hour) // the metadata is old
	if _, _, err := s.client.Begin(t.Context(), oidc.Attempt{}); err != nil {
		t.Errorf("with the old metadata: %v", err)
	}
	s.pass(-2 * time.Hour)
	if _, err := s.client.Finish(t.Context(), cookie, query); !errors.Is(err, oidc.ErrAway) {
		t.Errorf("away during a sign-in: %v", err)
	}
}

func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 3 {
		if _, err := s.finish(oidc.Attempt{}); err != nil {
			t.Fatal(err)
		}
		s.at.Rotate()
	}
}

func TestDigestsFollowTheOptions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	digests := map[string]string{s.client.Digest(): "the original"}
	if oidc.New(s.options).Digest() != s.client.Digest() {
		t.Error("the digests of equal options differ")
	}
	for name, change := range map[string]func(*oidc.Options){
		"issuer":        func(o *oidc.Options) { o.Issuer += "/" },
		"client_id":     func(o *oidc.Options) { o.ClientID += "x" },
		"client_secret": func(o *oidc.Options) { o.ClientSecret += "x" },
		"scopes":        func(o *oidc.Options) { o.Scopes = nil },
		"claim":         func(o *oidc.Options) { o.Claim = "groups" },
		"roles":         func(o *oidc.Options) { o.Roles = o.Roles[1:] },
	} {
		o := s.options
		change(&o)
		d := oidc.New(o).Digest()
		if other, twice := digests[d]; twice {
			t.Errorf("%s: the digest is that of %s", name, other)
		}
		digests[d] = name
	}
}

func TestLogoutURL(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if got := s.client.LogoutURL("https://console.shop.example/console/signin"); got != "" {
		t.Errorf("before the provider was contacted: %s", got)
	}
	if err := s.client.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := s.at.URL + "/logout?client_id=uimgate&post_logout_redirect_uri=https%3A%2F%2Fconsole.shop.example%2Fconsole%2Fsignin"
	if d := cmp.Diff(want, s.client.LogoutURL("https://console.shop.example/console/signin")); d != "" {
		t.Error(d)
	}
}

func FuzzFinish(f *testing.F) {
	redirect, err := url.Parse(back)
	if err != nil {
		f.Fatal(err)
	}
	p := oidc.New(oidc.Options{Issuer: "http://127.0.0.1:1", ClientID: "a", ClientSecret: "b", Redirect: redirect, Now: time.Now})
	f.Add("x.y", "state=1&code=2")
	f.Add("e30.", "state=&code=2&error=x")
	f.Fuzz(func(t *testing.T, cookie, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		if person, err := p.Finish(t.Context(), cookie, values); err == nil || person.Subject != "" {
			t.Errorf("%q and %q were accepted: %+v", cookie, query, person)
		}
	})
}
