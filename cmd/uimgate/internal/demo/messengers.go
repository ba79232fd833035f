package demo

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/agent"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// A messenger is a networkAgent whose requests are messages that it signs.
type messenger struct {
	client  *agent.Client
	service *agent.Service
	session agent.Session // with the PAT; kept after the PAT is revoked
}

// comes discovers the service as an agent with these options, and returns that agent and its address.
func (t *tour) comes(ctx context.Context, o agent.Options, address string) (networkAgent, string, error) {
	o.MaxAttempts, o.Now = 1, t.Now
	client, err := agent.New(o)
	if err != nil {
		return nil, "", err
	}
	service, err := client.Discover(ctx, t.gateway)
	return &messenger{client: client, service: service}, address, err
}

func (m *messenger) agree(ctx context.Context) (string, error) {
	policy, err := m.service.Policy(ctx)
	if err != nil {
		return "", err
	}
	got, err := m.service.Agree(ctx, agent.Acceptance{Digest: policy.Digest})
	m.session = m.service.Session()
	return strings.Join(got.Scope, " "), err
}

func (m *messenger) call(ctx context.Context, uid string, parameters map[string]any) (string, error) {
	got, err := m.service.Execute(ctx, uid, parameters, agent.ExecuteOptions{NoRepeat: true})
	if f, ok := errors.AsType[*agent.Error](err); ok {
		return "", &refusal{f.Reason, f.Message}
	}
	if err != nil || got.Charge == nil {
		return "", err
	}
	return got.Charge.String(), nil
}

func (m *messenger) revoke(ctx context.Context) (err error) {
	if err = m.service.Revoke(ctx); err == nil {
		m.service, err = m.client.Resume(m.session) // like an agent that kept the PAT
	}
	return err
}

func (m *messenger) close() { m.client.Close() }

// uagent returns an agent of the uAgents protocol, whose messages are signed envelopes, and the address of that agent.
func (t *tour) uagent(ctx context.Context) (networkAgent, string, error) {
	key, err := identity.FromSeed(agent.NewSeed(), 0)
	if err != nil {
		return nil, "", err
	}
	return t.comes(ctx, agent.Options{UAgent: &agent.UAgent{Key: key}, Wrap: t.showMessages("/submit", nameOfEnvelope)}, string(key.Address()))
}

func nameOfEnvelope(raw []byte) string {
	e, _ := envelope.Parse(raw)
	name, _ := protocol.NameOf(e.SchemaDigest)
	return name
}

// relayed returns an agent of the Machine Relay Protocol, which exchanges messages through the gateway's relay, and the address of that
// agent.
func (t *tour) relayed(ctx context.Context) (networkAgent, string, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, "", err
	}
	return t.comes(ctx, agent.Options{
		Key: key, Relay: &agent.Relay{URL: t.doors["mrp"]["relay"]}, Wrap: t.showMessages("/v1/messages", nameAtRelay),
	}, wire.KeyOf(key).String())
}

// nameAtRelay returns the action of a message to a relay, or the type and status of the first message in a page from a relay. It returns ""
// for any other document.
func nameAtRelay(raw []byte) string {
	var got struct {
		Body struct {
			Action string `json:"action"`
		} `json:"body"`
		Messages []struct {
			ContentType string `json:"content_type"`
			Body        struct {
				Status string `json:"status"`
			} `json:"body"`
		} `json:"messages"`
	}
	switch err := json.Unmarshal(raw, &got); {
	case err != nil:
		return ""
	case len(got.Messages) > 0:
		return got.Messages[0].ContentType + " " + got.Messages[0].Body.Status
	default:
		return got.Body.Action
	}
}

// showMessages returns a wrapper that prints the name of each message that is sent to a path or received from it, unless name returns "".
func (t *tour) showMessages(path string, name func(raw []byte) string) func(http.RoundTripper) http.RoundTripper {
	show := func(arrow string, body io.ReadCloser) io.ReadCloser {
		raw, _ := io.ReadAll(io.LimitReader(body, maxPage))
		_ = body.Close()
		if text := name(raw); text != "" {
			t.printf("   %s %s\n", arrow, text)
		}
		return io.NopCloser(bytes.NewReader(raw))
	}
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != path || t.quiet {
				return next.RoundTrip(r)
			}
			if r.Body != nil {
				r = r.Clone(r.Context())
				r.Body = show(">", r.Body)
			}
			answer, err := next.RoundTrip(r)
			if err == nil {
				answer.Body = show("<", answer.Body)
			}
			return answer, err
		})
	}
}
