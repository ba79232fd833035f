package oidc

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// AttemptTime is how long a person may take to sign in at the provider.
const AttemptTime = 10 * time.Minute

// maxCookie bounds the cookie of an attempt, in bytes. Browsers keep cookies of at most 4096 bytes.
const maxCookie = 3500

// An Attempt is one sign-in that a browser has begun. The browser keeps it in a cookie.
type Attempt struct {
	// Next is the address of the page that the person wants to see. If it is too long for a cookie, it is not kept.
	Next string `json:"next,omitempty"`
	// Session is the session whose user must authenticate again. If it is empty, a person signs in for a new session.
	Session string `json:"session,omitempty"`

	Secret string    `json:"secret"` // of this attempt: state, nonce and code verifier are derived from it
	At     time.Time `json:"at"`
}

// derived returns a value of an attempt that does not reveal the others.
func (a *Attempt) derived(purpose string) string {
	mac := hmac.New(sha256.New, []byte(a.Secret))
	mac.Write([]byte(purpose))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (a *Attempt) state() string    { return a.derived("state") }
func (a *Attempt) nonce() string    { return a.derived("nonce") }
func (a *Attempt) verifier() string { return a.derived("code verifier") }

// Begin returns the URL at the provider to which to send the browser, and the value of the cookie that Finish needs. Only Next and Session
// of a are used. If a has a Session, the provider is asked to authenticate the person again. The error wraps ErrAway.
func (p *Provider) Begin(ctx context.Context, a Attempt) (to, cookie string, err error) {
	m, err := p.metadata(ctx)
	if err != nil {
		return "", "", err
	}
	a.Secret, a.At = rand.Text(), p.o.Now().UTC()
	if cookie = p.seal(&a); len(cookie) > maxCookie {
		a.Next = ""
		cookie = p.seal(&a)
	}
	options := []oauth2.AuthCodeOption{goidc.Nonce(a.nonce()), oauth2.S256ChallengeOption(a.verifier())}
	if a.Session != "" {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return p.flow(m).AuthCodeURL(a.state(), options...), cookie, nil
}

// flow returns the client of the provider.
func (p *Provider) flow(m *metadata) *oauth2.Config {
	others := slices.DeleteFunc(slices.Clone(p.o.Scopes), func(s string) bool { return s == goidc.ScopeOpenID })
	return &oauth2.Config{
		ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: m.endpoint, RedirectURL: p.o.Redirect.String(),
		Scopes: append([]string{goidc.ScopeOpenID}, others...),
	}
}

// seal returns an attempt as the value of a cookie that only a process with the same options can make.
func (p *Provider) seal(a *Attempt) string {
	text, err := json.Marshal(a) //nolint:gosec // the cookie of the browser that began the attempt
	if err != nil {
		return "" // an Attempt can be encoded
	}
	return base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(p.mac(text))
}

func (p *Provider) mac(text []byte) []byte {
	mac := hmac.New(sha256.New, p.key)
	mac.Write(text)
	return mac.Sum(nil)
}

// open returns the attempt in a cookie, or ErrAttempt if the cookie is not from a process with the same options or is too old.
func (p *Provider) open(cookie string) (*Attempt, error) {
	if len(cookie) > maxCookie {
		return nil, ErrAttempt
	}
	first, second, _ := strings.Cut(cookie, ".")
	text, err := base64.RawURLEncoding.DecodeString(first)
	sum, err2 := base64.RawURLEncoding.DecodeString(second)
	var a Attempt
	if err != nil || err2 != nil || !hmac.Equal(sum, p.mac(text)) || json.Unmarshal(text, &a) != nil {
		return nil, ErrAttempt
	}
	if age := p.o.Now().Sub(a.At); age < -skew || age > AttemptTime {
		return nil, ErrAttempt
	}
	return &a, nil
}

// spend records that an attempt has been used. It returns false if this process had recorded that before.
func (p *Provider) spend(a *Attempt) bool {
	first := false
	p.used.Update(a.state(), func(_ bool, found bool) bool {
		first = !found
		return true
	})
	return first
}
