// Package upstream calls the web service behind the gateway.
//
// It owns how an intent becomes an HTTP request (Route, Prepare), what may be sent and when (Call asks
// the caller's grant right before the first byte), the outcome afterwards (store.Outcome), and how the
// service's answers become domain errors. It has no agent-visible codes beyond RejectedError's.
//
//	u, err := upstream.New(cfg)                        // once per service
//	route, err := u.Route(endpoint)                    // once per intent, at load
//	p, violations := route.Prepare(parameters)         // pure
//	err = p.Ready(agent, unapproved)                     // before anything is reserved
//	leave, err := u.Enter(ctx, agent, unapproved)        // a place among the calls under way
//	answer, outcome, err := u.Call(ctx, p, id, grant)  // only a live Grant sends
//
// Requests go out over HTTP/1.1 only, by choice: there one connection carries one request at a time, so
// it is certain whether a byte of it was written. Redirects are never followed: a 3xx is an error of the service.
package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
	"github.com/uimgate/uimgate/internal/fairqueue"
)

// A Config is the address of the service and how to call it. Fields without a stated default are required.
type Config struct {
	// URL is the service's address: http or https, a host, and optionally a path that precedes every endpoint's. It replaces scheme and
	// host of every endpoint.
	URL *url.URL
	// Execute is the path (below URL) that intents without an endpoint are posted to. Empty: every intent needs an endpoint.
	Execute string
	// AllowedHosts are the hosts that an endpoint may name in addition to the namespace of its intent and the names below it: the host of
	// service_url and the service's own. Ports are ignored.
	AllowedHosts []string
	// Timeout bounds one Call: connecting, retries and reading the answer.
	Timeout time.Duration
	// MaxResponse bounds the body of a response in bytes, before and after decompression.
	MaxResponse int64
	// IdempotencyHeader is the header that carries a key, so that the service recognizes repeated requests. Its value is the execution
	// id, and methods other than GET and HEAD are then retried too.
	IdempotencyHeader string
	// ErrorMessage is the JSON pointer (RFC 6901) to the message in the service's refusals. Empty: the usual places are searched.
	ErrorMessage string
	Reconcile    Reconcile
	// AuthHeaders, Basic and OAuth2 are the operator's credentials in headers. Each header has one value.
	AuthHeaders []AuthHeader
	Basic       Basic
	OAuth2      OAuth2
	Breaker     Breaker
	Retry       Retry
	// Places bounds the calls in progress, which Enter shares between agents.
	Places fairqueue.Bounds
	Pool   Pool
	// RootCAs are trusted instead of the system's for an https URL; nil: the system's.
	RootCAs *x509.CertPool
	// Now is the clock for the breaker's Retry-After and for dates in responses.
	Now func() time.Time
}

// A Breaker configures when the calls of an intent stop for a while: after Failures consecutive calls, of at least two agents, that could
// not connect, timed out, broke off or returned 5xx, for OpenFor; then one call is admitted as a probe. If only one agent's calls fail,
// only its calls stop. The calls of unapproved agents are counted separately: they never stop those of approved agents.
type Breaker struct {
	Failures int
	OpenFor  time.Duration
}

// Retry bounds the attempts of one Call.
type Retry struct {
	Attempts int           // in total, 1 to 10
	Wait     time.Duration // before the second attempt, doubled for each further one, half of it random
	MaxWait  time.Duration
}

// Pool bounds connections.
type Pool struct {
	MaxConns    int           // open connections; more calls wait, within their timeout
	MaxIdle     int           // kept open
	IdleTimeout time.Duration // how long an idle one is kept
	DialTimeout time.Duration // for connecting, TLS included; never exceeds Timeout
}

// maxHeader bounds the headers of one response in bytes, including preceding informational responses.
const maxHeader = 64 << 10

// An Upstream is one service's address with its connections and breakers. It is safe for concurrent use.
type Upstream struct {
	cfg      Config
	scheme   string
	host     string
	prefix   string // escaped path of URL without a final slash
	hosts    map[string]bool
	auth     pool.Fields // the credentials that never change
	tokens   *tokens     // nil: no OAuth2
	question *question   // nil: the service cannot report the outcome of a call
	conns    *pool.Pool
	places   *fairqueue.Places
	failing  *ownCircuits

	credentials []string // the secrets among Config's, as texts

	routing sync.Mutex
	routes  []*Route
	guards  map[string]guard // by the values that they find
}

// New checks cfg. Errors name the invalid member and never a credential.
func New(cfg Config) (*Upstream, error) {
	if err := check(cfg); err != nil {
		return nil, err
	}
	cfg.Pool.DialTimeout = min(cfg.Pool.DialTimeout, cfg.Timeout)
	u := &Upstream{
		cfg:    cfg,
		scheme: cfg.URL.Scheme,
		host:   cfg.URL.Host,
		prefix: strings.TrimRight(cfg.URL.EscapedPath(), "/"),
		hosts:  map[string]bool{},
		guards: map[string]guard{},
	}
	for _, h := range cfg.AllowedHosts {
		u.hosts[hostname(h)] = true
	}
	if err := u.setCredentials(); err != nil {
		return nil, err
	}
	if err := u.setQuestion(cfg.Reconcile); err != nil {
		return nil, fmt.Errorf("upstream %w", err)
	}
	conns, err := pool.New(pool.Config{
		URL: cfg.URL, TLS: secure(cfg), MaxConns: cfg.Pool.MaxConns, MaxIdle: cfg.Pool.MaxIdle,
		IdleTimeout: cfg.Pool.IdleTimeout, DialTimeout: cfg.Pool.DialTimeout, MaxHeader: maxHeader, Keep: readHeaders, Now: cfg.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("upstream url: %w", err)
	}
	u.conns = conns
	u.failing, u.places = newOwnCircuits(), fairqueue.New(cfg.Places)
	return u, nil
}

// Enter reserves a place for one Call of an agent, fairly between agents, and waits for it within Config.Places; unapproved: the operator
// has not approved the agent. It also ensures that there is an access token, if calls need one. leave releases the place, once. Enter
// returns ErrFull if no place became free in time, ErrUnreachable if it got no token, and the error of ctx if ctx ended.
func (u *Upstream) Enter(ctx context.Context, agent string, unapproved bool) (leave func(), err error) {
	leave, err = u.places.Take(ctx, fairqueue.Party{Name: agent, Unapproved: unapproved})
	if errors.Is(err, fairqueue.ErrFull) {
		return nil, ErrFull
	}
	if err != nil || u.tokens == nil {
		return leave, err
	}
	if _, err := u.tokens.get(ctx); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// UnderWay returns how many calls have a place, and how many wait for one.
func (u *Upstream) UnderWay() (calls, waiting int) { return u.places.Counts() }

// Address is the address of the service: http://host:port. It is for the operator, never for agents.
func (u *Upstream) Address() string { return u.scheme + "://" + u.host }

// Close closes idle connections. Calls in progress end by themselves.
func (u *Upstream) Close() {
	u.conns.Close()
	if u.tokens != nil {
		u.tokens.client.CloseIdleConnections()
	}
}

// secure returns the TLS configuration for the service; nil: no TLS.
func secure(cfg Config) *tls.Config {
	if cfg.URL.Scheme != "https" {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs, ServerName: cfg.URL.Hostname(), NextProtos: []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}
}

func check(cfg Config) error {
	if err := checkURL(cfg.URL); err != nil {
		return fmt.Errorf("upstream url: %w", err)
	}
	if cfg.Execute != "" {
		if _, err := executePath(cfg.Execute); err != nil {
			return fmt.Errorf("upstream execute: %w", err)
		}
	}
	r, p := cfg.Retry, cfg.Pool
	switch {
	case cfg.Timeout <= 0:
		return errors.New("upstream timeout: want more than 0")
	case cfg.MaxResponse <= 0:
		return errors.New("upstream max_response: want more than 0")
	case cfg.Breaker.Failures <= 0 || cfg.Breaker.OpenFor <= 0:
		return errors.New("upstream breaker: want failures and open_for above 0")
	case r.Attempts < 1 || r.Attempts > 10 || r.Wait <= 0 || r.MaxWait <= 0:
		return errors.New("upstream retry: want 1 to 10 attempts and waits above 0")
	case p.MaxConns <= 0 || p.MaxIdle <= 0 || p.IdleTimeout <= 0 || p.DialTimeout <= 0:
		return errors.New("upstream connections: want bounds above 0")
	case cfg.Places.Places <= 0 || cfg.Places.Waiting <= 0 || cfg.Places.Wait <= 0:
		return errors.New("upstream concurrency: want bounds above 0")
	case cfg.Now == nil:
		return errors.New("upstream: a clock is missing")
	}
	return nil
}

func checkURL(u *url.URL) error {
	switch {
	case u == nil:
		return errors.New("missing")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("want http:// or https://")
	case u.Hostname() == "":
		return errors.New("names no host")
	case u.User != nil:
		return errors.New("holds a user or password: write them under auth.basic")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("want no ? or # part")
	case len(u.EscapedPath()) > maxTarget/4:
		return errors.New("its path is too long")
	}
	return checkStaticPath(u.EscapedPath())
}

func hostname(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(hostport, "[]"), "."))
}
