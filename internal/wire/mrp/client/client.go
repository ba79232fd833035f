package client

import (
	"cmp"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/mrp/e2e"
)

// Errors for callers to distinguish. An error response from a relay is a *wire.Error.
var (
	// ErrOptions means that the options of a client, or the arguments of a request, are invalid.
	ErrOptions = errors.New("invalid options or arguments")
	// ErrAnswer means that a response does not conform to the protocol.
	ErrAnswer = errors.New("the response does not conform to the protocol")
)

// Options describe an agent, its relay and the limits of its client.
type Options struct {
	// Relay is the URL of the relay without /v1, such as https://relay.mrphub.io. http is permitted only for the loopback address.
	Relay string
	Key   ed25519.PrivateKey

	// AllowInsecure permits http and private addresses: it is for tests and closed networks.
	AllowInsecure bool
	TLS           *tls.Config // nil means Go's default
	UserAgent     string      // empty means uimgate-agent
	// Wrap wraps the HTTP transport, for example to print exchanges; the wrapper sees signatures. It may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper

	Attempts int           // maximum number of attempts for one request; 0 means 4
	Backoff  time.Duration // wait before the second attempt, doubled for each further attempt, up to 8 s; 0 means 500 ms
	MaxWait  time.Duration // limit of the sum of all waits between attempts; 0 means one minute
	// Reconnect is the wait before the first attempt to restore a lost connection. The wait doubles for each further attempt, up to
	// 60 s. 0 means one second.
	Reconnect time.Duration

	Now func() time.Time // nil means time.Now
}

// String returns the URL of the relay, but never the key.
func (o Options) String() string { return "options of an agent at " + o.Relay }

// Format writes the result of String for every verb, so that no verb prints a secret.
func (o Options) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }

// Limits that the caller cannot change.
const (
	exchangeTime = wire.MaxWait + 30*time.Second // limit of one exchange, except for blobs
	blobTime     = 15 * time.Minute              // limit of an upload or a download
	maxBackoff   = 8 * time.Second
	maxReconnect = time.Minute
	// maxOffset limits how far the client follows a relay's clock, so that a relay cannot make the client sign for arbitrary times.
	maxOffset = time.Hour
)

// A Client is an agent at one relay. It is safe for concurrent use.
type Client struct {
	o     Options
	base  *url.URL
	key   wire.Key
	fetch *fetch.Client
	calls calls

	clock struct {
		sync.Mutex
		offset time.Duration // how far the relay's clock is ahead of the local clock
		last   time.Time     // time of the last signature
	}
}

// New creates a Client. It sends no request. The error wraps ErrOptions.
func New(o Options) (*Client, error) {
	if len(o.Key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("%w: an agent must have an Ed25519 key", ErrOptions)
	}
	base, err := url.Parse(strings.TrimRight(o.Relay, "/"))
	if err != nil || base.Host == "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("%w: the relay must be a URL such as https://relay.mrphub.io, without a query", ErrOptions)
	}
	if o.Attempts < 0 || o.Backoff < 0 || o.MaxWait < 0 || o.Reconnect < 0 {
		return nil, fmt.Errorf("%w: durations and counts must not be negative", ErrOptions)
	}
	o.Attempts, o.Backoff = cmp.Or(o.Attempts, 4), cmp.Or(o.Backoff, 500*time.Millisecond)
	o.MaxWait, o.Reconnect = cmp.Or(o.MaxWait, time.Minute), cmp.Or(o.Reconnect, time.Second)
	o.UserAgent = cmp.Or(o.UserAgent, "uimgate-agent")
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default clock of the client
	}
	c := &Client{o: o, base: base, key: wire.KeyOf(o.Key), fetch: fetch.New(fetch.Options{
		AllowInsecure: o.AllowInsecure, Timeout: exchangeTime, UserAgent: o.UserAgent, TLS: o.TLS, Wrap: o.Wrap,
	})}
	if err := c.fetch.Check(base, nil); err != nil {
		return nil, fmt.Errorf("%w: the relay: %w", ErrOptions, err)
	}
	return c, nil
}

// Key returns the agent's key.
func (c *Client) Key() wire.Key { return c.key }

// Relay returns the URL of the relay.
func (c *Client) Relay() string { return c.base.String() }

// Close closes idle connections.
func (c *Client) Close() { c.fetch.Close() }

// Seal encrypts the body of a message for its recipient. The errors are those of package e2e.
func (c *Client) Seal(s wire.Send) (wire.Send, error) { return e2e.SealSend(c.o.Key, s) }

// Open decrypts a message of type wire.TypeEncrypted. The errors are those of package e2e.
func (c *Client) Open(m wire.Message) (wire.Message, error) { return e2e.OpenMessage(c.o.Key, m) }

// next returns the time for the next signature: the estimated time of the relay's clock, and later than the previous signature.
func (c *Client) next() time.Time {
	c.clock.Lock()
	defer c.clock.Unlock()
	at := c.o.Now().Add(c.clock.offset).UTC()
	if !at.After(c.clock.last) {
		at = c.clock.last.Add(1)
	}
	c.clock.last = at
	return at
}

// follow sets the clock offset from the Date header of a response, and reports whether the relay could now accept a new signature.
func (c *Client) follow(date string) bool {
	at, err := http.ParseTime(date)
	if err != nil {
		return false
	}
	offset := at.Sub(c.o.Now())
	if offset.Abs() > maxOffset {
		return false
	}
	c.clock.Lock()
	defer c.clock.Unlock()
	c.clock.offset, c.clock.last = offset, time.Time{}
	return true
}

// jittered returns a random duration between d/2 and d.
func jittered(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1) //nolint:gosec // waits are not secret
}
