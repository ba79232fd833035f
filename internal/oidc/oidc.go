// Package oidc signs people in through an OpenID Connect provider, with the authorization code flow and PKCE (OpenID Connect Core 1.0
// section 3.1, RFC 7636).
//
//	provider := oidc.New(oidc.Options{Issuer: "https://id.example", ClientID: "uimgate", …})
//	location, cookie, err := provider.Begin(ctx, oidc.Attempt{Next: "/console/"}) // redirect the browser, and set the cookie
//	person, err := provider.Finish(ctx, cookie, query)                            // when the browser comes back with the cookie
package oidc

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/internal/fetch"
)

const (
	exchangeTime = 10 * time.Second // for one request to the provider
	maxDocument  = 1 << 20          // bytes of a response of the provider
	mostAtOnce   = 16               // sign-ins that exchange their code at the same time
	// refreshAfter is how long the metadata of the provider is used. After a failure, the Provider waits for
	// retryAfter before it fetches the metadata again.
	refreshAfter = time.Hour
	retryAfter   = 3 * time.Second
	maxUsed      = 10_000 // attempts that are remembered as finished
)

// Errors of Begin and Finish. Each error wraps at most one of them.
var (
	// ErrAway means that the provider cannot be reached, sends an invalid response, or rejects the client's credentials.
	ErrAway = errors.New("the identity provider cannot be used")
	// ErrAttempt means that the browser has not begun this sign-in, or has finished it, or began it more than AttemptTime ago.
	ErrAttempt = errors.New("this browser has not begun the sign-in, or it has expired")
	// ErrDenied means that the provider has not signed the person in.
	ErrDenied = errors.New("the identity provider has not signed the person in")
	// ErrIdentity means that the ID token is not valid for this sign-in.
	ErrIdentity = errors.New("the ID token is not valid")
	// ErrNoRole means that no role is configured for the person.
	ErrNoRole = errors.New("no role is configured for the person")
	// ErrStale means that the person was not authenticated again.
	ErrStale = errors.New("the provider has not authenticated the person again")
	// ErrBusy means that too many sign-ins are in progress.
	ErrBusy = errors.New("too many sign-ins are in progress")
)

// Options configure a Provider. Issuer, ClientID, ClientSecret and Redirect are required.
type Options struct {
	Issuer       string // exactly as in the ID tokens
	ClientID     string
	ClientSecret string
	Scopes       []string // in addition to openid
	// Claim is the name of the claim with the groups or roles of a person, or a JSON pointer into the claims. Empty: groups and roles.
	Claim string
	// Roles are ordered from the lowest to the highest.
	Roles    []Role
	Redirect *url.URL // URL to which the provider sends the browser back
	// Private permits http and addresses that are not on the public internet.
	Private bool
	Roots   *x509.CertPool // nil: those of the system
	Now     func() time.Time
}

// A Role is given to the people whose claim has one of Values.
type Role struct {
	Name   string
	Values []string
}

// A Provider is an OpenID Connect provider. Its methods contact the provider only when necessary. A Provider is safe for concurrent use.
type Provider struct {
	o      Options
	digest string
	key    []byte // authenticates the cookies of attempts
	issuer *url.URL
	guard  *fetch.Client
	client *http.Client
	places chan struct{}
	used   *cache.Cache[string, bool]

	discovering singleflight.Group
	mu          sync.Mutex
	found       *metadata
	foundAt     time.Time
	failed      error // of the last discovery; nil: it succeeded, or there was none
	failedAt    time.Time
}

// New returns a Provider, without contacting it. Options.Issuer must be a URL.
func New(o Options) *Provider {
	guarded := fetch.Options{AllowInsecure: o.Private, Timeout: exchangeTime, UserAgent: "uimgate"}
	if o.Roots != nil {
		guarded.TLS = &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
	}
	issuer, err := url.Parse(o.Issuer)
	if err != nil {
		issuer = &url.URL{} // every request is then refused
	}
	p := &Provider{
		o: o, issuer: issuer, guard: fetch.New(guarded), places: make(chan struct{}, mostAtOnce),
		used: cache.New(cache.Options[string, bool]{Max: maxUsed, SinceWrite: 2 * AttemptTime}),
	}
	p.client = &http.Client{
		Transport:     p.guard.Transport(maxDocument, issuer),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a redirect must not carry the secret
	}
	p.digest = digest(o)
	mac := hmac.New(sha256.New, []byte(o.ClientSecret))
	mac.Write([]byte("uimgate sign-in " + p.digest))
	p.key = mac.Sum(nil)
	return p
}

// digest returns a digest of the options that decide who may sign in.
func digest(o Options) string {
	text, err := json.Marshal([]any{o.Issuer, o.ClientID, o.ClientSecret, o.Scopes, o.Claim, o.Roles})
	if err != nil {
		return "" // strings can be encoded
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Digest identifies the options that decide who may sign in and with which role. Processes with the same options have the same Digest.
func (p *Provider) Digest() string { return p.digest }

// Same reports whether another Provider would do the same: the same people get the same roles over the same connections.
func (p *Provider) Same(other *Provider) bool {
	a, b := p.o, other.o
	roots := a.Roots == b.Roots || a.Roots != nil && b.Roots != nil && a.Roots.Equal(b.Roots)
	return p.digest == other.digest && a.Redirect.String() == b.Redirect.String() && a.Private == b.Private && roots
}

// Redirect is the URL to which the provider sends browsers back.
func (p *Provider) Redirect() *url.URL { return p.o.Redirect }

// Host returns the host of the provider, to show to people.
func (p *Provider) Host() string { return p.issuer.Host }

// Close closes idle connections. Sign-ins in progress continue.
func (p *Provider) Close() { p.guard.Close() }

// Away returns the error of the last attempt to contact the provider, or nil if it succeeded, if there was none, or if it was more than a
// minute ago.
func (p *Provider) Away() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil || p.o.Now().Sub(p.failedAt).Abs() > time.Minute {
		return nil
	}
	return p.failed
}

// Discover contacts the provider, and returns an error that wraps ErrAway if it cannot be used.
func (p *Provider) Discover(ctx context.Context) error {
	_, err := p.metadata(ctx)
	return err
}

// LogoutURL returns the URL at which the person can sign out of the provider. The provider then redirects the browser to back. The result
// is empty if the provider has no such URL, or has not been contacted yet (OpenID Connect RP-Initiated Logout 1.0).
func (p *Provider) LogoutURL(back string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil || p.found.logout == nil {
		return ""
	}
	to := *p.found.logout
	q := to.Query()
	q.Set("client_id", p.o.ClientID)
	q.Set("post_logout_redirect_uri", back)
	to.RawQuery = q.Encode()
	return to.String()
}
