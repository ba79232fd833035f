// Package mrp is a client for relays of the Machine Relay Protocol, through which agents send each other messages, find each other and
// store files. These are the usual calls:
//
//	key, err := mrp.LoadKey("agent.seed")
//	c, err := mrp.New(mrp.Options{Relay: "https://relay.mrphub.io", Key: key})
//	err = c.Listen(ctx, mrp.ListenOptions{}, func(ctx context.Context, m wire.Message) error {
//		return answer(ctx, m) // nil means that the message was processed
//	})
//
// The gateway uses the same client for services at other relays. The client is therefore implemented in internal/wire/mrp/client, whose
// documentation describes keys, retries, and what the client does not trust.
package mrp

import (
	"crypto/ed25519"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/mrp/client"
)

// Types of package client.
type (
	// A Client is an agent at one relay. It is safe for concurrent use.
	Client = client.Client
	// Options describe an agent, its relay and the limits of its client.
	Options = client.Options
	// AskOptions configures a message that expects a reply.
	AskOptions = client.AskOptions
	// ListenOptions configures Listen. Its functions are called from several goroutines.
	ListenOptions = client.ListenOptions
	// A Handler processes a message. If it returns an error, the message will be delivered again.
	Handler = client.Handler
	// Seen records which messages were processed. It is safe for concurrent use.
	Seen = client.Seen
	// A Filter selects the messages that Poll returns.
	Filter = client.Filter
	// A Page is one page of messages.
	Page = client.Page
	// A Search selects agents; all set fields must match.
	Search = client.Search
	// A StatusError is a response that is neither a success nor an error of the protocol. It matches ErrAnswer.
	StatusError = client.StatusError
)

// Errors for callers to distinguish. An error response from a relay is a *wire.Error.
var (
	ErrOptions = client.ErrOptions // invalid options or arguments
	ErrAnswer  = client.ErrAnswer  // the response does not conform to the protocol
	ErrPlain   = client.ErrPlain   // the reply to an encrypted message is not encrypted
	ErrKeyFile = client.ErrKeyFile // a file does not contain a key, others can read it, or it cannot be written
)

// New creates a Client. It sends no request. The error wraps ErrOptions.
func New(o Options) (*Client, error) { return client.New(o) }

// NewKey generates a key for an agent.
func NewKey() ed25519.PrivateKey { return client.NewKey() }

// SaveKey writes the 32 bytes of a key's seed to a new file that only its owner can read (0600). The error wraps ErrKeyFile.
func SaveKey(path string, key ed25519.PrivateKey) error { return client.SaveKey(path, key) }

// LoadKey reads a file written by SaveKey or by an SDK of the protocol. The error wraps ErrKeyFile, and os.ErrNotExist if the file does not
// exist.
func LoadKey(path string) (ed25519.PrivateKey, error) { return client.LoadKey(path) }

// ReadResponse reads a message that responds to a request. The error wraps ErrAnswer.
func ReadResponse(m wire.Message) (wire.Response, error) { return client.ReadResponse(m) }

// Remember returns a Seen that keeps the newest 100,000 ids in memory.
func Remember() Seen { return client.Remember() }
