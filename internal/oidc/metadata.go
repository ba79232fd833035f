package oidc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/uimgate/uimgate/internal/fetch"
)

// metadata is the checked metadata of the provider (OpenID Connect Discovery 1.0 section 4.2).
type metadata struct {
	endpoint oauth2.Endpoint
	provider *goidc.Provider
	verifier *goidc.IDTokenVerifier
	userinfo bool
	logout   *url.URL // nil: none
	issIs    bool     // each response of the provider has the parameter iss (RFC 9207)
}

// A document is the part of the provider's metadata document that the gateway reads.
type document struct {
	Issuer      string   `json:"issuer"`
	Authorize   string   `json:"authorization_endpoint"`
	Token       string   `json:"token_endpoint"`
	Keys        string   `json:"jwks_uri"`
	UserInfo    string   `json:"userinfo_endpoint"`
	EndSession  string   `json:"end_session_endpoint"`
	Algorithms  []string `json:"id_token_signing_alg_values_supported"`
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	Iss         bool     `json:"authorization_response_iss_parameter_supported"`
}

// algorithms are the signature algorithms that the gateway accepts for ID tokens.
var algorithms = []string{
	goidc.RS256, goidc.RS384, goidc.RS512, goidc.ES256, goidc.ES384, goidc.ES512, goidc.PS256, goidc.PS384, goidc.PS512, goidc.EdDSA,
}

// metadata returns the metadata of the provider, and fetches it if it is missing or old. If the provider does not answer, the old metadata
// remains in use.
func (p *Provider) metadata(ctx context.Context) (*metadata, error) {
	now := p.o.Now()
	p.mu.Lock()
	found, fresh := p.found, p.found != nil && now.Sub(p.foundAt).Abs() < refreshAfter
	failed, paused := p.failed, p.failed != nil && now.Sub(p.failedAt).Abs() < retryAfter
	p.mu.Unlock()
	switch {
	case fresh, found != nil && paused:
		return found, nil
	case paused:
		return nil, failed
	}
	_, err, _ := p.discovering.Do("", func() (any, error) { // the first caller's browser may disconnect
		next, err := p.fetch(context.WithoutCancel(ctx))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.failed, p.failedAt = err, p.o.Now()
		if err == nil {
			p.found, p.foundAt = next, p.o.Now()
		}
		return nil, err
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	return nil, err
}

// fetch fetches and checks the document of the provider.
func (p *Provider) fetch(ctx context.Context) (*metadata, error) {
	away := func(format string, args ...any) (*metadata, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrAway}, args...)...)
	}
	answer, err := p.guard.Get(ctx, strings.TrimSuffix(p.o.Issuer, "/")+"/.well-known/openid-configuration", fetch.Document{
		Max: maxDocument, From: nil,
	})
	if err != nil {
		return away("%w", err)
	}
	var d document
	if answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &d) != nil {
		return away("%s did not respond with valid metadata (status %d)", p.Host(), answer.Status)
	}
	if d.Issuer != p.o.Issuer {
		return away("its issuer differs from admin.oidc.issuer: write the issuer exactly as the provider does")
	}
	urls := map[string]string{"authorization_endpoint": d.Authorize, "token_endpoint": d.Token, "jwks_uri": d.Keys}
	for name, text := range urls {
		if _, err := p.address(text); err != nil {
			return away("its %s cannot be used: %w", name, err)
		}
	}
	m := &metadata{endpoint: oauth2.Endpoint{AuthURL: d.Authorize, TokenURL: d.Token, AuthStyle: oauth2.AuthStyleInHeader}, issIs: d.Iss}
	if len(d.AuthMethods) > 0 && !slices.Contains(d.AuthMethods, "client_secret_basic") {
		m.endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	signatures := slices.DeleteFunc(slices.Clone(algorithms), func(a string) bool { return !slices.Contains(d.Algorithms, a) })
	if len(signatures) == 0 {
		return away("it signs ID tokens with none of %s", strings.Join(algorithms, ", "))
	}
	if to, err := p.address(d.EndSession); err == nil {
		m.logout = to
	}
	if _, err := p.address(d.UserInfo); err == nil {
		m.userinfo = true
	}
	m.provider = (&goidc.ProviderConfig{
		IssuerURL: d.Issuer, AuthURL: d.Authorize, TokenURL: d.Token, UserInfoURL: d.UserInfo, JWKSURL: d.Keys, Algorithms: signatures,
	}).NewProvider(p.context(ctx))
	m.verifier = goidc.NewVerifier(d.Issuer, keySet{goidc.NewRemoteKeySet(p.context(ctx), d.Keys)}, &goidc.Config{
		ClientID: p.o.ClientID, SupportedSigningAlgs: signatures, Now: p.o.Now,
	})
	return m, nil
}

// keySet fetches the keys of the provider. The verifier discards the cause of its errors, so keySet writes it to the *error of keyError.
type keySet struct{ goidc.KeySet }

// keyError is the key of a context with an *error.
type keyError struct{}

// VerifySignature implements goidc.KeySet.
func (k keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, token)
	if into, ok := ctx.Value(keyError{}).(*error); ok && err != nil && strings.HasPrefix(err.Error(), "fetching keys") {
		*into = err
	}
	return payload, err
}

// address parses a URL that the provider has published, and returns an error if the gateway or a browser must not request it.
func (p *Provider) address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not a URL", fetch.ErrRefused)
	}
	return u, p.guard.Check(u, p.issuer)
}

// context returns a context that makes the libraries use the guarded client.
func (p *Provider) context(ctx context.Context) context.Context {
	return goidc.ClientContext(ctx, p.client)
}
