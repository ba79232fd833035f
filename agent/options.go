package agent

import (
	"context"
	"crypto"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/agent/mrp"
	"github.com/uimgate/uimgate/discovery"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// Defaults of Options, and bounds that the caller cannot change.
const (
	defaultMaxDocument = 16 << 20 // bytes of agents.json
	defaultMaxAnswer   = 8 << 20  // bytes of an executed intent's answer
	defaultMaxWait     = 30 * time.Second
	defaultMaxAttempts = 4
	maxPATAnswer       = 256 << 10
	maxErrorBody       = 256 << 10
)

// Options are the identity of an agent and the bounds of its client.
type Options struct {
	// Key is the agent's private key: Ed25519, ECDSA P-256, or RSA of 2048 to 4096 bits. Without one a client can only
	// discover, search and fetch policies.
	Key crypto.Signer
	// AgentID is 1 to 200 visible ASCII characters; empty is "agent-" and the first 12 characters of the
	// key's thumbprint (RFC 7638).
	AgentID string

	// UAgent makes the client an agent of the uAgents protocol, in place of Key and AgentID. nil: it is not one.
	UAgent *UAgent

	// Relay makes the client an agent on a relay of the Machine Relay Protocol, through which it agrees, renews and executes. Key must
	// then be an Ed25519 key, and is the agent's id. nil: requests go to the service itself.
	Relay *Relay

	// AllowInsecure permits http and private addresses: for tests and closed networks. A loopback address that the caller
	// names is always allowed.
	AllowInsecure bool
	// AllowStatic permits a signature over the policy alone, which anyone who sees it can replay, for services that do not accept fresh
	// agreements.
	AllowStatic bool

	Timeout   time.Duration // of one exchange; 0 is fetch.DefaultTimeout
	UserAgent string        // empty is uimgate-agent
	TLS       *tls.Config   // nil is Go's default
	Resolver  *net.Resolver // nil is Go's default

	// Wrap wraps the transport, for example to print exchanges; it sees PATs and signatures. May be nil.
	Wrap func(http.RoundTripper) http.RoundTripper

	MaxDocument int64 // bytes of an agents.json that are read; 0 is 16 MiB
	MaxAnswer   int64 // bytes of an answer that are read; 0 is 8 MiB

	// MaxAttempts bounds how often one call is sent, 0 is 4; MaxWait bounds the sum of the waits between
	// its attempts, 0 is 30 s.
	MaxAttempts int
	MaxWait     time.Duration
	// RenewBefore is how long before its expiry a PAT is renewed; 0 is a tenth of its lifetime, at most a minute.
	RenewBefore time.Duration

	// Locate finds the agents.json of a domain, best first. nil queries the system's DNS servers for its TXT records
	// (package discovery, UIM core 5.1); a function that returns nothing turns that off. Without a result agents.json is
	// fetched from https://<domain>/agents.json.
	Locate func(ctx context.Context, domain string) ([]string, error)

	Now   func() time.Time                                 // nil is the clock
	Sleep func(ctx context.Context, d time.Duration) error // nil waits, or returns the error of ctx
}

// String returns only the agent id: a key must not be printed.
func (o Options) String() string { return "options of agent " + o.AgentID }

// Format writes String for every verb: none may print a secret.
func (o Options) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }

// A Client finds services. It is safe for concurrent use.
type Client struct {
	o      Options
	id     pat.AgentID // empty: neither given nor made of a key
	key    keys.Key
	fetch  *fetch.Client
	agents agentsCache    // of agents.json
	relay  *mrp.Client    // nil: everything goes to the service itself
	jitter func() float64 // in [0, 1)
}

// New makes a Client. The error wraps ErrOptions.
func New(o Options) (*Client, error) {
	c := &Client{o: o, jitter: rand.Float64}
	if o.Key != nil {
		key, err := keys.New(o.Key.Public())
		if err != nil {
			return nil, fmt.Errorf("%w: the key: %w", ErrOptions, err)
		}
		c.key = key
		c.id = pat.AgentID("agent-" + key.Thumbprint()[:12])
	}
	if o.UAgent != nil {
		if o.Key != nil || o.AgentID != "" {
			return nil, fmt.Errorf("%w: an agent of the uAgents protocol has its address as id, and no other key", ErrOptions)
		}
		address := o.UAgent.Key.Address()
		if _, err := identity.ParseAddress(string(address)); err != nil {
			return nil, fmt.Errorf("%w: the agent of the uAgents protocol has no key", ErrOptions)
		}
		c.id = pat.AgentID(address)
		c.key = keys.AddressKey(string(c.id), address.Point())
	}
	if o.Relay != nil {
		if err := c.joinRelay(); err != nil {
			return nil, err
		}
	}
	if o.AgentID != "" {
		id, err := pat.ParseAgentID(o.AgentID)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOptions, err)
		}
		c.id = id
	}
	if o.Timeout < 0 || o.MaxDocument < 0 || o.MaxAnswer < 0 || o.MaxAttempts < 0 || o.MaxWait < 0 || o.RenewBefore < 0 {
		return nil, fmt.Errorf("%w: times, sizes and counts are not negative", ErrOptions)
	}
	c.defaults()
	c.fetch = fetch.New(fetch.Options{
		AllowInsecure: o.AllowInsecure, Timeout: o.Timeout, UserAgent: c.o.UserAgent, TLS: o.TLS, Resolver: o.Resolver, Wrap: o.Wrap,
	})
	return c, nil
}

func (c *Client) defaults() {
	o := &c.o
	if o.UserAgent == "" {
		o.UserAgent = "uimgate-agent"
	}
	if o.MaxDocument == 0 {
		o.MaxDocument = defaultMaxDocument
	}
	if o.MaxAnswer == 0 {
		o.MaxAnswer = defaultMaxAnswer
	}
	if o.MaxAttempts == 0 {
		o.MaxAttempts = defaultMaxAttempts
	}
	if o.MaxWait == 0 {
		o.MaxWait = defaultMaxWait
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the one place where the caller leaves the clock to us
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Locate == nil {
		o.Locate = discovery.New(discovery.Options{Now: o.Now}).Locate
	}
}

// Close closes idle connections. The client can still be used.
func (c *Client) Close() { c.fetch.Close() }

// AgentID returns the id that this client agrees under; empty without Options.AgentID and key.
func (c *Client) AgentID() pat.AgentID { return c.id }

// KeyID returns the RFC 7638 thumbprint of the agent's key; empty without one.
func (c *Client) KeyID() keys.ID { return c.key.Thumbprint() }

// String returns the agent id.
func (c *Client) String() string { return "agent " + string(c.id) }

// Format writes String for every verb: none may print a secret.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
