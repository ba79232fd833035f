// Package mrptest has an agent of the Machine Relay Protocol for tests of services.
package mrptest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent/mrp"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/pat"
)

// An Agent sends requests to a service over a relay. Its id is its key.
type Agent struct {
	*mrp.Client
	Key     ed25519.PrivateKey
	To      wire.Key // the service
	Encrypt bool     // hides messages from the relay
	Now     func() time.Time
	Report  func(wire.Progress) // called for each progress report while the agent waits; may be nil
}

// New returns an agent with a new key, at a relay.
func New(tb testing.TB, relay, service string, now func() time.Time) *Agent {
	tb.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must(tb, err)
	return With(tb, private, relay, service, now)
}

// With returns an agent with a given key.
func With(tb testing.TB, private ed25519.PrivateKey, relay, service string, now func() time.Time) *Agent {
	tb.Helper()
	c, err := mrp.New(mrp.Options{Relay: relay, Key: private, Now: now})
	must(tb, err)
	tb.Cleanup(c.Close)
	to, err := wire.ParseKey(service)
	must(tb, err)
	return &Agent{Client: c, Key: private, To: to, Now: now}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// ID returns the id of the agent.
func (a *Agent) ID() string { return wire.KeyOf(a.Key).String() }

// Say sends a message and returns the reply.
func (a *Agent) Say(tb testing.TB, contentType, body string) wire.Message {
	tb.Helper()
	m, err := a.Call(tb.Context(), wire.Send{Recipient: a.To, ContentType: contentType, Body: []byte(body)}, mrp.AskOptions{
		Encrypt: a.Encrypt, Bound: contentType == wire.TypeRequest, Progress: a.Report,
	})
	must(tb, err)
	return m
}

// Ask sends a request and returns the response. members are further members of the request, in JSON.
func (a *Agent) Ask(tb testing.TB, action, params string, members ...string) string {
	tb.Helper()
	body := fmt.Sprintf(`{"action":%q,"params":%s`, action, params)
	if len(members) > 0 {
		body += "," + strings.Join(members, ",")
	}
	m := a.Say(tb, wire.TypeRequest, body+"}")
	if m.ContentType != wire.TypeResponse {
		tb.Errorf("the reply has the type %s, want %s", m.ContentType, wire.TypeResponse)
	}
	return string(m.Body)
}

// Result decodes the result in a response.
func Result[T any](tb testing.TB, answer string) (result T) {
	tb.Helper()
	var reply struct {
		Status string          `json:"status"`
		Result json.RawMessage `json:"result"`
	}
	must(tb, json.Unmarshal([]byte(answer), &reply))
	if reply.Status != wire.ResponseOK {
		tb.Fatalf("got %s", answer)
	}
	must(tb, json.NewDecoder(bytes.NewReader(reply.Result)).Decode(&result))
	return result
}

// Agreement requests the policy and returns a signed agreement to it.
func (a *Agent) Agreement(tb testing.TB, url string) string {
	tb.Helper()
	offer := Result[struct {
		UID, Digest, Issuer string
		URL                 string `json:"issue_url"`
	}](tb, a.Ask(tb, "uim:policy", "{}"))
	if url != offer.URL {
		tb.Errorf("issue_url is %q, want %q", offer.URL, url)
	}
	signed, err := pat.SignAgreement(a.Key, pat.AgreementClaims{
		AgentID: pat.AgentID(a.ID()), Audience: offer.Issuer, URL: url, IssuedAt: a.Now(), Nonce: rand.Text(),
		PolicyUID: offer.UID, PolicyDigest: offer.Digest,
	})
	must(tb, err)
	return signed
}

// A Grant is the result of an agreement.
type Grant struct {
	AgreementID string   `json:"agreement_id"`
	PAT         string   `json:"pat"`
	ExpiresAt   string   `json:"expires_at"`
	Scope       []string `json:"scope"`
}

// Agrees agrees to the policy and returns the grant. url is the issue URL, which the agreement contains.
func (a *Agent) Agrees(tb testing.TB, url string) Grant {
	tb.Helper()
	return Result[Grant](tb, a.Ask(tb, "uim:agree", fmt.Sprintf(`{"agreement":%q}`, a.Agreement(tb, url))))
}
