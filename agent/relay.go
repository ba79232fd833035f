package agent

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/uimgate/uimgate/agent/mrp"
	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/internal/fetch"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/pat"
)

// A Relay configures a client that is an agent of the Machine Relay Protocol. The client still fetches documents, such as
// agents.json and the policy, over HTTP.
type Relay struct {
	URL string // URL of the relay, such as https://relay.mrphub.io; http is allowed only for the loopback address
	// Service is the key of the service. If it is empty, the client uses the key in the service's agents.json. If both exist, they
	// must be equal.
	Service string
	// Encrypt hides calls and responses from the relay and its operator.
	Encrypt bool
}

// answerWithin is how long the client waits for a response through a relay, unless the operation may take longer.
const answerWithin = 2 * time.Minute

// joinRelay creates the client of the relay. The key of that client becomes the agent's id.
func (c *Client) joinRelay() error {
	key, ok := c.o.Key.(ed25519.PrivateKey)
	switch {
	case !ok:
		return fmt.Errorf("%w: an agent on a relay must have an Ed25519 key", ErrOptions)
	case c.o.AgentID != "" || c.o.UAgent != nil:
		return fmt.Errorf("%w: Relay cannot be combined with AgentID or UAgent, because the id of the agent is its key", ErrOptions)
	}
	relay, err := mrp.New(mrp.Options{
		Relay: c.o.Relay.URL, Key: key, AllowInsecure: c.o.AllowInsecure, TLS: c.o.TLS, UserAgent: c.o.UserAgent, Wrap: c.o.Wrap, Now: c.o.Now,
	})
	if err != nil {
		return fmt.Errorf("%w: the relay: %w", ErrOptions, err)
	}
	c.relay, c.id = relay, pat.AgentID(relay.Key().String())
	return nil
}

// onRelay returns the key of the service on the relay. The error wraps ErrNoDoor.
func (s *Service) onRelay() (wire.Key, error) {
	configured, announced := s.client.o.Relay.Service, s.Endpoints().MRPKey
	switch {
	case configured == "" && announced == "":
		return wire.Key{}, fmt.Errorf("%w: its agents.json has no uim-mrp", ErrNoDoor)
	case configured == "":
		configured = announced
	case announced != "" && announced != configured:
		return wire.Key{}, fmt.Errorf("%w: uim-mrp in its agents.json differs from the configured key", ErrNoDoor)
	}
	k, err := wire.ParseKey(configured)
	if err != nil {
		return wire.Key{}, fmt.Errorf("%w: the key of the service: %w", ErrNoDoor, err)
	}
	return k, nil
}

// throughRelay sends a request for one of the service's endpoints through the relay, with this header and body. If no response
// arrives, the outcome is unknown.
func (s *Service) throughRelay(ctx context.Context, op operation, header http.Header, body []byte) (fetch.Answer, error) {
	to, err := s.onRelay()
	if err != nil {
		return fetch.Answer{}, err
	}
	text, err := via.MRP{}.Request(op.action, header, body)
	if err != nil {
		return fetch.Answer{}, fmt.Errorf("%s: %w", op.name, err)
	}
	within := max(answerWithin, op.wait)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	send := wire.Send{Recipient: to, ContentType: wire.TypeRequest, Body: text, ExpiresIn: int64(within / time.Second)}
	m, err := s.client.relay.Call(ctx, send, mrp.AskOptions{Encrypt: s.client.o.Relay.Encrypt, Bound: true})
	if err != nil {
		return fetch.Answer{}, fmt.Errorf("%s: %w", op.name, s.lost(err))
	}
	answer, err := via.MRP{}.Read(op.action, m)
	if err != nil {
		return fetch.Answer{}, fmt.Errorf("%s: %w: %w", op.name, ErrAnswer, err)
	}
	if answer.URL, err = url.Parse(s.client.o.Relay.URL); err != nil {
		return fetch.Answer{}, err
	}
	if int64(len(answer.Body)) > op.max(s.client) {
		return fetch.Answer{}, &fetch.Error{
			Origin: fetch.Origin(answer.URL), Sent: true, Err: fmt.Errorf("%w than %d bytes", fetch.ErrTooLarge, op.max(s.client)),
		}
	}
	if answer.Status/100 == 2 {
		return answer, nil
	}
	return fetch.Answer{}, fmt.Errorf("%s: %w", op.name, readError(answer))
}

// lost converts an error of an exchange through the relay. A request that the relay refused did not reach the service; any other
// request may have reached it.
func (s *Service) lost(err error) error {
	if refused, ok := errors.AsType[*wire.Error](err); ok {
		return fmt.Errorf("%w: the relay responded: %s", ErrRelay, clean(refused.Error()))
	}
	u, parsed := url.Parse(s.client.o.Relay.URL)
	if parsed != nil {
		return err
	}
	return &fetch.Error{Origin: fetch.Origin(u), Sent: true, Err: err}
}

// ErrRelay means that the relay did not accept a message for the service: nothing was executed.
var ErrRelay = errors.New("the relay did not accept the message")
