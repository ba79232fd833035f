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

// A Relay configures a client that is an agent of the Machine Relay Protocol. Documents that are only read, such as agents.json and the
// policy, are still fetched over HTTP.
type Relay struct {
	URL string // of the relay, such as https://relay.mrphub.io; http is for the loopback address alone
	// Service is the key of the service; empty: the one in its agents.json. If there are both, they must be the same.
	Service string
	// Encrypt hides calls and responses from the relay and its operator.
	Encrypt bool
}

// answerWithin bounds the wait for a response through a relay.
const answerWithin = 2 * time.Minute

// joinRelay connects the client to its relay.
func (c *Client) joinRelay() error {
	key, ok := c.o.Key.(ed25519.PrivateKey)
	switch {
	case !ok:
		return fmt.Errorf("%w: an agent on a relay has a key of Ed25519", ErrOptions)
	case c.o.AgentID != "" || c.o.UAgent != nil:
		return fmt.Errorf("%w: an agent on a relay has its key as id, and no other identity", ErrOptions)
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

// onRelay returns the key of the service.
func (s *Service) onRelay() (wire.Key, error) {
	configured, announced := s.client.o.Relay.Service, s.Endpoints().MRPKey
	switch {
	case configured == "" && announced == "":
		return wire.Key{}, fmt.Errorf("%w: its agents.json has no uim-mrp", ErrNoDoor)
	case configured == "":
		configured = announced
	case announced != "" && announced != configured:
		return wire.Key{}, fmt.Errorf("%w: its agents.json has another key as uim-mrp than the one given", ErrNoDoor)
	}
	k, err := wire.ParseKey(configured)
	if err != nil {
		return wire.Key{}, fmt.Errorf("%w: the key of the service: %w", ErrNoDoor, err)
	}
	return k, nil
}

// throughRelay sends the service a request for one of its endpoints, with this header and body. Without a response the outcome is
// unknown.
func (s *Service) throughRelay(ctx context.Context, op operation, header http.Header, body []byte) (fetch.Answer, error) {
	to, err := s.onRelay()
	if err != nil {
		return fetch.Answer{}, err
	}
	text, err := via.MRP{}.Request(op.action, header, body)
	if err != nil {
		return fetch.Answer{}, fmt.Errorf("%s: %w", op.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	send := wire.Send{Recipient: to, ContentType: wire.TypeRequest, Body: text, ExpiresIn: int64(answerWithin / time.Second)}
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

// lost returns the error of an exchange through the relay: a request that the relay refused did not reach the service; any other may
// have.
func (s *Service) lost(err error) error {
	if refused, ok := errors.AsType[*wire.Error](err); ok {
		return fmt.Errorf("%w: the relay answers %s", ErrRelay, clean(refused.Error()))
	}
	u, parsed := url.Parse(s.client.o.Relay.URL)
	if parsed != nil {
		return err
	}
	return &fetch.Error{Origin: fetch.Origin(u), Sent: true, Err: err}
}

// ErrRelay means that the relay did not accept a message for the service: nothing was executed.
var ErrRelay = errors.New("the relay did not take it")
