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
	// renewBefore is how long before its expiry a token is renewed; at most half its lifetime.
	renewBefore = 30 * time.Second
	// tokenPause is the minimum interval of token requests, so that neither a failing token server nor a service that refuses its tokens
	// causes a request for each call.
	tokenPause = time.Second
	// tokenTime bounds one request for a token, and never exceeds Config.Timeout.
	tokenTime = 10 * time.Second
	maxToken  = 16 << 10 // bytes
)

// tokens caches an access token for all calls (RFC 6749 4.4). Only one request for it is in progress at a time, for all that wait. A
// token is used until it expires or is refused; before it expires it is renewed in the background.
type tokens struct {
	source   clientcredentials.Config
	client   *http.Client
	timeout  time.Duration
	now      func() time.Time
	fetching singleflight.Group

	mu          sync.Mutex
	held        accessToken
	previous    string
	found       guard     // finds both
	requestedAt time.Time // when the last request began
	failed      error     // the error of the last request
}

// An accessToken expires at a time; the zero one has expired.
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
	transport := &http.Transport{ // Proxy is never the environment's
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs},
		MaxIdleConns:    1, IdleConnTimeout: cfg.Pool.IdleTimeout, MaxResponseHeaderBytes: maxHeader,
	}
	return &tokens{
		source: clientcredentials.Config{ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: o.TokenURL.String(), Scopes: o.Scopes},
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the secret is not sent anywhere else
		},
		timeout: min(tokenTime, cfg.Timeout), now: cfg.Now,
	}
}

// get returns a token, possibly after waiting. The error is that of ctx, or ErrUnreachable with the token server's problem: without its
// address, secret or text.
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

// known returns the token, or the reason why there is none for now. If there is neither, or a new token is due, a token must be fetched;
// text is then the token to use meanwhile, if there is one.
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

// fetch sends a request to the token server, unless another goroutine has just done so.
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

// refused records that the service does not accept the token of these headers. It drops the token unless it is new, when another one
// would be refused, too.
func (t *tokens) refused(header pool.Fields) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if header.Get(authorization) == bearer+t.held.text && !t.now().Before(t.requestedAt.Add(tokenPause)) {
		t.hold(accessToken{})
	}
}

// hold replaces the token.
func (t *tokens) hold(other accessToken) {
	if t.held.text != "" {
		t.previous = t.held.text
	}
	t.held = other
	t.found = newGuard([]string{t.held.text, t.previous}, nil)
}

// guard finds the tokens in the service's output.
func (t *tokens) guard() guard {
	if t == nil {
		return guard{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.found
}

// renewed returns the headers with another token. It returns false if there is none.
func (u *Upstream) renewed(ctx context.Context, header pool.Fields) (pool.Fields, bool) {
	text, err := u.tokens.get(ctx)
	if err != nil || header.Get(authorization) == bearer+text {
		return nil, false
	}
	other := slices.Clone(header)
	other.Set(authorization, bearer+text)
	return other, true
}

// acceptable: RFC 6750.
func acceptable(got *oauth2.Token) error {
	switch {
	case !strings.EqualFold(got.Type(), "bearer"):
		return noToken("it gives tokens of another type than Bearer")
	case len(got.AccessToken) > maxToken || strings.ContainsFunc(got.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }):
		return noToken("its token is too long, or has characters that a header cannot have")
	default:
		return nil
	}
}

// tokenErrors are those of RFC 6749 5.2. Any other text of the token server is dropped.
var tokenErrors = map[string]bool{
	"invalid_request": true, "invalid_client": true, "invalid_grant": true, "unauthorized_client": true, "unsupported_grant_type": true,
	"invalid_scope": true,
}

func tokenFailure(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		why := fmt.Sprintf("it answers with status %d", refused.Response.StatusCode)
		if tokenErrors[refused.ErrorCode] {
			why += ", " + refused.ErrorCode
		}
		return noToken(why)
	}
	if why := cause(err); why != "" {
		return noToken(why)
	}
	return noToken("its answer holds none")
}

func noToken(why string) error {
	return fmt.Errorf("%w: the token server gives no access token: %s", ErrUnreachable, why)
}
