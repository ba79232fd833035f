package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
)

const (
	bearer = "Bearer "
	// A token is renewed renewBefore ahead of its expiry, or after half of its lifetime if that is later.
	renewBefore = 30 * time.Second
	// tokenPause is the minimum interval between token requests. Without it, a failing token server, or a service that refuses its tokens,
	// would cause a token request for each call.
	tokenPause = time.Second
	// tokenTime is the maximum duration of a token request. Config.Timeout applies if it is shorter.
	tokenTime = 10 * time.Second
	maxToken  = 16 << 10 // bytes
)

// tokens caches an access token for all calls (RFC 6749 4.4). At most one token request is in progress at a time, and all callers wait for
// it. A token is used until it expires or the service refuses it. It is renewed in the background before it expires.
type tokens struct {
	source   clientcredentials.Config
	client   *http.Client
	timeout  time.Duration
	now      func() time.Time
	fetching singleflight.Group

	mu          sync.Mutex
	held        accessToken
	previous    string
	found       guard     // finds held and previous
	requestedAt time.Time // start of the last request
	failed      error     // error of the last request
}

// An accessToken is a token and its validity. The zero accessToken is not usable.
type accessToken struct {
	text       string
	renew, end time.Time // zero: unknown
}

func (a accessToken) usable(now time.Time) bool {
	return a.text != "" && (a.end.IsZero() || now.Before(a.end))
}
func (a accessToken) due(now time.Time) bool { return !a.renew.IsZero() && !now.Before(a.renew) }

func newTokens(cfg Config) *tokens {
	o := cfg.OAuth2
	transport := &http.Transport{ // no Proxy: the proxy settings of the environment do not apply
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs},
		MaxIdleConns:    1, IdleConnTimeout: cfg.Pool.IdleTimeout, MaxResponseHeaderBytes: maxHeader,
	}
	return &tokens{
		source: clientcredentials.Config{
			ClientID: o.ClientID, ClientSecret: o.ClientSecret.Reveal(), TokenURL: o.TokenURL.String(), Scopes: o.Scopes,
		},
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a redirect must not carry the secret
		},
		timeout: min(tokenTime, cfg.Timeout), now: cfg.Now,
	}
}

// get returns an access token, and waits for one if necessary. If ctx is canceled, the error is context.Canceled. Otherwise the error wraps
// ErrUnreachable and describes the problem, but contains neither the address of the token server, nor its messages, nor the secret.
func (t *tokens) get(ctx context.Context) (string, error) {
	text, err, known := t.known()
	if known {
		return text, err
	}
	fetched := t.fetching.DoChan("", func() (any, error) { return t.fetch(context.WithoutCancel(ctx)) })
	if text != "" {
		return text, nil
	}
	select {
	case r := <-fetched:
		text, _ = r.Val.(string)
		return text, r.Err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return "", ctx.Err()
		}
		return "", noToken("timed out")
	}
}

// known returns the cached token, or the error of the last request if the next request must wait. If known is false, a token must be
// fetched; text is then a token that can be used in the meantime, or empty.
func (t *tokens) known() (text string, err error, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	pausing := now.Before(t.requestedAt.Add(tokenPause))
	switch {
	case t.held.usable(now):
		return t.held.text, nil, !t.held.due(now) || pausing
	case pausing && t.failed != nil:
		return "", t.failed, true
	default:
		return "", nil, false
	}
}

// fetch requests a token from the token server, unless another goroutine has just fetched one.
func (t *tokens) fetch(ctx context.Context) (string, error) {
	if text, err, known := t.known(); known {
		return text, err
	}
	start := t.now()
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, t.client), t.timeout)
	defer cancel()
	got, err := t.source.Token(ctx) // reads at most 1 MiB
	if err == nil {
		err = acceptable(got)
	} else {
		err = tokenFailure(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requestedAt, t.failed = start, err
	if err != nil {
		return "", err
	}
	fresh := accessToken{text: got.AccessToken}
	if !got.Expiry.IsZero() {
		life := time.Until(got.Expiry)
		fresh.end = t.now().Add(life)
		fresh.renew = fresh.end.Add(-min(renewBefore, life/2))
	}
	t.hold(fresh)
	return fresh.text, nil
}

// refused records that the service refused the token in these headers. It drops the token if it is the cached one, unless it was requested
// less than tokenPause ago: the service would then probably refuse another token, too.
func (t *tokens) refused(header pool.Fields) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if header.Get(authorization) == bearer+t.held.text && !t.now().Before(t.requestedAt.Add(tokenPause)) {
		t.hold(accessToken{})
	}
}

// hold replaces the cached token. The caller holds mu.
func (t *tokens) hold(other accessToken) {
	if t.held.text != "" {
		t.previous = t.held.text
	}
	t.held = other
	t.found = newGuard([]string{t.held.text, t.previous}, nil)
}

// guard returns the guard that finds the current and the previous token in the service's output.
func (t *tokens) guard() guard {
	if t == nil {
		return guard{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.found
}

// renewed returns a copy of the headers with a different token, which it fetches if necessary. It returns false if there is no other token.
func (u *Upstream) renewed(ctx context.Context, header pool.Fields) (pool.Fields, bool) {
	text, err := u.tokens.get(ctx)
	if err != nil || header.Get(authorization) == bearer+text {
		return nil, false
	}
	other := slices.Clone(header)
	other.Set(authorization, bearer+text)
	return other, true
}

// acceptable returns an error if a token cannot be used as a Bearer token. See RFC 6750.
func acceptable(got *oauth2.Token) error {
	switch {
	case !strings.EqualFold(got.Type(), "bearer"):
		return noToken("its token type is not Bearer")
	case len(got.AccessToken) > maxToken || strings.ContainsFunc(got.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }):
		return noToken("its token is too long, or contains characters that are not allowed in a header")
	default:
		return nil
	}
}

// tokenErrors are the error codes of RFC 6749 5.2. Any other text from the token server is dropped.
var tokenErrors = map[string]bool{
	"invalid_request": true, "invalid_client": true, "invalid_grant": true, "unauthorized_client": true, "unsupported_grant_type": true,
	"invalid_scope": true,
}

func tokenFailure(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		why := fmt.Sprintf("it responded with status %d", refused.Response.StatusCode)
		if tokenErrors[refused.ErrorCode] {
			why += ", " + refused.ErrorCode
		}
		return noToken(why)
	}
	if why := cause(err); why != "" {
		return noToken(why)
	}
	return noToken("its response contains no token")
}

func noToken(why string) error {
	return fmt.Errorf("%w: no access token from the token server: %s", ErrUnreachable, why)
}
