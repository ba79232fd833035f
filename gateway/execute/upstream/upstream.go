// Package upstream calls the web service behind the gateway.
//
// It converts the parameters of an intent into an HTTP request (Route, Prepare), and sends the request (Call checks the caller's grant
// right before the first byte). It determines the outcome (store.Outcome), and converts error responses of the service into errors. Apart
// from the codes of RejectedError, it defines no codes that agents see.
//
//	u, err := upstream.New(cfg)                        // once per service
//	route, err := u.Route(endpoint)                    // once per intent, when the configuration is loaded
//	p, violations := route.Prepare(parameters)         // no I/O
//	err = p.Ready(agent, unapproved)                   // before anything is reserved
//	leave, err := u.Enter(ctx, agent, unapproved)      // a place among the calls in progress
//	answer, outcome, err := u.Call(ctx, p, id, grant)  // sends only with a live Grant
//
// This package deliberately uses only HTTP/1.1: a connection then carries one request at a time, so it is certain whether a byte of the
// request was written. It never follows redirects: a 3xx response is an error of the service.
package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
	"github.com/uimgate/uimgate/gateway/execute/upstream/mcp"
	"github.com/uimgate/uimgate/internal/fairqueue"
)

// A Config is the address of the service and the settings for calling it. URL, Timeout, MaxResponse, Breaker, Retry, Places, Pool and Now
// are required.
type Config struct {
	// URL is the address of the service: http or https, a host, and optionally a path. It replaces the scheme and host of every endpoint,
	// and its path precedes the path of every endpoint. With MCP, it is the address of the server's endpoint; nil if MCP has a Command.
	URL *url.URL
	// MCP means that the service is an MCP server. If it is nil, the service is an HTTP API.
	MCP *MCP
	// Execute is the path, relative to URL, to which intents without an endpoint are posted. Empty: every intent needs an endpoint.
	Execute string
	// AllowedHosts are the hosts that endpoints may name, in addition to the namespace of the intent and its subdomains: the host of
	// service_url and the configured hosts of the service. Ports are ignored.
	AllowedHosts []string
	// Timeout is the maximum duration of one Call, including connecting, retries and reading the response.
	Timeout time.Duration
	// MaxResponse is the maximum size of a response body, in bytes, both before and after decompression.
	MaxResponse int64
	// IdempotencyHeader is the name of a header that lets the service recognize repeated requests. Its value is the execution id. If it is
	// set, requests with methods other than GET and HEAD are retried too. Empty: no such header.
	IdempotencyHeader string
	// ErrorMessage is the JSON pointer (RFC 6901) to the message in error responses of the service. If it is empty, Call searches message,
	// detail, title, error and other usual members.
	ErrorMessage string
	// Reconcile describes how to request the outcome of a call from the service. Its URL is relative to URL. The zero value means that the
	// service does not support this.
	Reconcile config.Reconcile
	// ReconcileFixed are fixed values for such a request: headers, members of the query, and parameters in its URL.
	ReconcileFixed FixedValues
	// AuthHeaders, by name, and OAuth2 are the credentials that are sent in headers. Each header can have only one value.
	AuthHeaders map[string]config.Secret
	OAuth2      config.OAuth2
	// Breaker configures the circuit breakers of intents. A breaker opens after Failures consecutive calls, of at least two agents, that
	// could not connect, timed out, lost the connection or returned 5xx. It stays open for OpenFor and then admits one call as a probe. If
	// only the calls of one agent fail, the breaker stops only that agent. Unapproved agents have separate breakers, so their failures never
	// stop approved agents.
	Breaker config.Breaker
	Retry   Retry
	// Places limits the calls in progress. Enter shares the places between agents.
	Places fairqueue.Bounds
	Pool   Pool
	// RootCAs are the root certificates for https URLs. nil: those of the system.
	RootCAs *x509.CertPool
	// Now is the clock for breakers, access tokens, idle connections and dates in responses.
	Now func() time.Time
}

// Retry limits the attempts of one Call.
type Retry struct {
	Attempts int           // maximum number of attempts, 1 to 10
	Wait     time.Duration // pause before the second attempt; it doubles for each further attempt, and half of it is random
	MaxWait  time.Duration // maximum pause
}

// Pool limits the connections to the service.
type Pool struct {
	MaxConns    int           // maximum number of open connections; further calls wait, within their timeout
	MaxIdle     int           // maximum number of idle connections
	IdleTimeout time.Duration // how long an idle connection is kept open
	DialTimeout time.Duration // maximum time for connecting, including TLS; New limits it to Config.Timeout
}

// maxHeader is the maximum size of the headers of one response, in bytes, including preceding informational responses.
const maxHeader = 64 << 10

// An Upstream calls one web service. It holds the connections to the service and the breakers. It is safe for concurrent use.
type Upstream struct {
	cfg      Config
	scheme   string
	host     string
	prefix   string // escaped path of URL, without trailing slash
	hosts    map[string]bool
	auth     pool.Fields // the header fields of credentials that never change
	tokens   *tokens     // nil: no OAuth2
	question *question   // nil: the service cannot report the outcome of a call
	conns    *pool.Pool  // nil: the service is a child process
	server   *mcp.Server // nil: the service is an HTTP API
	places   *fairqueue.Places
	failing  *ownCircuits

	credentials []string // the secrets in Config

	routing sync.Mutex
	routes  []*Route
	guards  map[string]guard // by the values that they find
	report  toolsReport
}

// New returns an Upstream. It checks the URL, the paths and the headers. An error names the invalid setting, but never contains a
// credential.
func New(cfg Config) (*Upstream, error) {
	if err := check(cfg); err != nil {
		return nil, err
	}
	cfg.Pool.DialTimeout = min(cfg.Pool.DialTimeout, cfg.Timeout)
	u := &Upstream{
		cfg:    cfg,
		hosts:  map[string]bool{},
		guards: map[string]guard{},
	}
	if cfg.URL != nil {
		u.scheme, u.host, u.prefix = cfg.URL.Scheme, cfg.URL.Host, strings.TrimRight(cfg.URL.EscapedPath(), "/")
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
	if err := u.setConns(); err != nil {
		return nil, err
	}
	if err := u.setServer(cfg.MCP); err != nil {
		return nil, err
	}
	u.failing, u.places = newOwnCircuits(), fairqueue.New(cfg.Places)
	return u, nil
}

// setConns prepares the connections to the service, unless it is a child process.
func (u *Upstream) setConns() (err error) {
	cfg := &u.cfg
	if cfg.URL == nil {
		return nil
	}
	keep := readHeaders
	if cfg.MCP != nil {
		keep = append(slices.Clone(keep), mcp.HeaderNames...)
	}
	u.conns, err = pool.New(pool.Config{
		URL: cfg.URL, TLS: secure(*cfg), MaxConns: cfg.Pool.MaxConns, MaxIdle: cfg.Pool.MaxIdle,
		IdleTimeout: cfg.Pool.IdleTimeout, DialTimeout: cfg.Pool.DialTimeout, MaxHeader: maxHeader, Keep: keep, Now: cfg.Now,
	})
	if err != nil {
		return fmt.Errorf("upstream url: %w", err)
	}
	return nil
}

// Enter reserves a place for one Call of an agent. It shares the places fairly between agents, and waits for a place as Config.Places
// allows. unapproved means that the operator has not approved the agent. If calls need an access token, Enter also ensures that there is
// one. The caller must call leave once to release the place. Enter returns ErrFull if no place became free in time, ErrUnreachable if it
// could not obtain a token, and the error of ctx if ctx ended.
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

// UnderWay returns the number of calls that have a place, and the number of calls that wait for a place.
func (u *Upstream) UnderWay() (calls, waiting int) { return u.places.Counts() }

// Address returns the address of the service: scheme://host, with the port if the URL has one, or stdio: and the name of the program of a
// child process. The address is for the operator, never for agents.
func (u *Upstream) Address() string {
	if u.host == "" {
		return "stdio:" + filepath.Base(u.cfg.MCP.Command.Path)
	}
	return u.scheme + "://" + u.host
}

// Close closes the idle connections, and ends each child process when its calls have ended. Calls in progress continue, and later calls
// open new connections.
func (u *Upstream) Close() {
	if u.conns != nil {
		u.conns.Close()
	}
	if u.server != nil {
		u.server.Close()
	}
	if u.tokens != nil {
		u.tokens.client.CloseIdleConnections()
	}
}

// End is like Close, and then waits until the child processes have ended. No call may follow.
func (u *Upstream) End(ctx context.Context) {
	u.Close()
	if u.server != nil {
		u.server.End(ctx)
	}
}

// secure returns the TLS configuration for the service, or nil if its URL is not https.
func secure(cfg Config) *tls.Config {
	if cfg.URL.Scheme != "https" {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs, ServerName: cfg.URL.Hostname(), NextProtos: []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}
}

// check checks what package config does not.
func check(cfg Config) error {
	program := cfg.MCP != nil && cfg.MCP.Command.Path != ""
	if err := checkURL(cfg.URL); err != nil && !program {
		return fmt.Errorf("upstream url: %w", err)
	}
	if cfg.Execute != "" {
		if _, err := executePath(cfg.Execute); err != nil {
			return fmt.Errorf("upstream execute: %w", err)
		}
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
		return errors.New("the host is missing")
	case u.User != nil:
		return errors.New("must not contain a user or password: set them in auth.basic")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("must not have a query or fragment")
	case len(u.EscapedPath()) > maxTarget/4:
		return errors.New("the path is too long")
	}
	return checkStaticPath(u.EscapedPath())
}

func hostname(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(hostport, "[]"), "."))
}
