package agent

import (
	"cmp"
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
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// Defaults of Options, and limits that the caller cannot change.
const (
	defaultMaxDocument = 16 << 20 // bytes of agents.json
	defaultMaxAnswer   = 8 << 20  // bytes of a response to Execute
	defaultMaxWait     = 30 * time.Second
	defaultMaxAttempts = 4
	maxPATAnswer       = 256 << 10
	maxErrorBody       = 256 << 10
)

// Options describe the identity of an agent and the limits of its client.
type Options struct {
	// Key is the agent's private key: Ed25519, ECDSA P-256, or RSA of 2048 to 4096 bits. Without Key and UAgent, a client can only
	// discover services, search them and fetch their policies.
	Key crypto.Signer
	// AgentID has 1 to 200 visible ASCII characters. If it is empty, the id is "agent-" followed by the first 12 characters of the
	// key's thumbprint (RFC 7638).
	AgentID string

	// UAgent makes the client an agent of the uAgents protocol; Key and AgentID must then be empty. nil means that the client is
	// not such an agent.
	UAgent *UAgent

	// Relay makes the client an agent on a relay of the Machine Relay Protocol: it agrees, renews and executes through the relay.
	// Key must then be an ed25519.PrivateKey, whose public key is the agent's id, and AgentID and UAgent must be empty. nil means
	// that requests go directly to the service.
	Relay *Relay

	// AllowInsecure permits http and private addresses, and lets a service use any name: it is for tests and closed networks. A
	// loopback address that the caller names is always allowed.
	AllowInsecure bool
	// AllowStatic permits static agreements with services that do not accept fresh ones. A static agreement is a signature over the
	// policy alone: anyone who sees it can replay it.
	AllowStatic bool

	// Timeout limits one exchange; 0 means 30 s or, for a call to an intent with a longer x-timeout, that time.
	Timeout   time.Duration
	UserAgent string        // empty means uimgate-agent
	TLS       *tls.Config   // nil means Go's default
	Resolver  *net.Resolver // nil means Go's default

	// Wrap wraps the HTTP transport, for example to print exchanges; the wrapper sees PATs and signatures. It may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper

	// Receipts is the directory in which the client keeps the receipts of its calls, with a file for each service; see package receipts. If it
	// is empty, the client checks receipts but does not keep them.
	Receipts string
	// Forms are the forms of agreement of other protocols. The client keeps agreements in these forms beside the receipts, as evidence for the
	// agent. A client with UAgent needs the form of package bindings/uagents/agreement; without it, the evidence lacks the client's
	// agreements.
	Forms []pat.Form

	// Pay signs one of the payments in the terms of the demand, and returns it as JSON in the form of x402. Execute calls Pay at most once for
	// a call, if the service demands a payment, and then sends the payment with the call. If Pay is nil, the agent does not pay.
	Pay func(ctx context.Context, d Demand) ([]byte, error)

	// SameTerms reports whether two policies, as served, have the same terms for an intent of the catalogue, so that an agreement to before
	// permits a charge under after. The client calls it if evidence.SameTerms finds a difference. If SameTerms is nil, the terms then count as
	// different.
	SameTerms func(ctx context.Context, before, after []byte, catalog *intents.Catalog, uid string) bool

	MaxDocument int64 // limit of an agents.json in bytes; 0 means 16 MiB
	MaxAnswer   int64 // limit of a response to Execute in bytes; 0 means 8 MiB

	// MaxAttempts limits how often Execute sends one call; 0 means 4. It does not count the additional attempt after a renewal or with a
	// requested proof of key, nor the attempts while an earlier call under the same idempotency key is still running. MaxWait limits the sum
	// of the waits between attempts; 0 means 30 s. For a call that is still running, the limit is at least the time that the service states
	// for the intent.
	MaxAttempts int
	MaxWait     time.Duration
	// RenewBefore is how long before its expiry a PAT is renewed; 0 means a tenth of its lifetime, but at most one minute.
	RenewBefore time.Duration

	// Locate returns the URLs of the agents.json of a domain, best first. nil queries the system's DNS servers for the domain's TXT
	// records (package discovery, UIM core 5.1); a function that returns no URLs turns this off. Discover tries at most four of the
	// URLs, and then the default paths at the domain.
	Locate func(ctx context.Context, domain string) ([]string, error)

	Now   func() time.Time                                 // nil means time.Now
	Sleep func(ctx context.Context, d time.Duration) error // waits for d or returns the error of ctx; nil means a timer
}

// String returns only the agent id of the options, because a key must not be printed.
func (o Options) String() string { return "options of agent " + o.AgentID }

// Format writes the result of String for every verb, so that no verb prints a secret.
func (o Options) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }

// A Client finds services. It is safe for concurrent use.
type Client struct {
	o      Options
	id     pat.AgentID // empty if the Options have neither an id nor a key
	key    keys.Key
	fetch  *fetch.Client
	agents agentsCache    // the agents.json documents that were read
	relay  *mrp.Client    // nil if requests go directly to the service
	jitter func() float64 // returns a random number in [0, 1)
}

// New creates a Client. Every error wraps ErrOptions.
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
			return nil, fmt.Errorf("%w: UAgent cannot be combined with Key or AgentID, because the id of the agent is its address", ErrOptions)
		}
		address := o.UAgent.Key.Address()
		if _, err := identity.ParseAddress(string(address)); err != nil {
			return nil, fmt.Errorf("%w: UAgent has no key", ErrOptions)
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
		return nil, fmt.Errorf("%w: durations, sizes and counts must not be negative", ErrOptions)
	}
	c.defaults()
	c.fetch = fetch.New(fetch.Options{
		AllowInsecure: o.AllowInsecure, Timeout: o.Timeout, UserAgent: c.o.UserAgent, TLS: o.TLS, Resolver: o.Resolver, Wrap: o.Wrap,
	})
	return c, nil
}

func (c *Client) defaults() {
	o := &c.o
	o.UserAgent = cmp.Or(o.UserAgent, "uimgate-agent")
	o.MaxDocument = cmp.Or(o.MaxDocument, defaultMaxDocument)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, defaultMaxAnswer)
	o.MaxAttempts = cmp.Or(o.MaxAttempts, defaultMaxAttempts)
	o.MaxWait = cmp.Or(o.MaxWait, defaultMaxWait)
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default clock of the client
	}
	if o.Sleep == nil {
		o.Sleep = delay.For
	}
	if o.Locate == nil {
		o.Locate = discovery.New(discovery.Options{Now: o.Now}).Locate
	}
}

// Close closes idle connections. The client can still be used afterwards.
func (c *Client) Close() { c.fetch.Close() }

// AgentID returns the id with which this client agrees; it is empty if the Options have neither an id nor a key.
func (c *Client) AgentID() pat.AgentID { return c.id }

// KeyID returns the RFC 7638 thumbprint of the agent's key; it is empty if there is no key.
func (c *Client) KeyID() keys.ID { return c.key.Thumbprint() }

// String returns only the agent id of the client.
func (c *Client) String() string { return "agent " + string(c.id) }

// Format writes the result of String for every verb, so that no verb prints a secret.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }
