package soak

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// The ways of agents of the uAgents protocol: the reply is in the response, or is sent later.
const (
	wayEnvelope = "envelope"
	wayLater    = "envelope, answered later"
)

// The identity that all gateways have in the uAgents protocol.
const (
	seedFile = "uagents.seed"
	seed     = "the gateways of a soak, as one agent"
)

// envelopeAgents is the number of these agents; the last one is hungry.
const envelopeAgents = 4

// An inbox receives the answers that are sent later to these agents.
type inbox struct {
	server *httptest.Server
	keys   []identity.Key
	target identity.Address

	mu      sync.Mutex
	awaited map[string]chan []byte // by session
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	own, err := identity.FromSeed(seed, 0)
	b := &inbox{target: own.Address(), awaited: map[string]chan []byte{}}
	for i := 0; i < envelopeAgents && err == nil; i++ {
		var key identity.Key
		key, err = identity.FromSeed("an agent of a soak", uint8(i))
		b.keys = append(b.keys, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.server = httptest.NewServer(b)
	t.Cleanup(b.server.Close)
	return b
}

// rules returns the part of the configuration that states where the agents receive answers.
func (b *inbox) rules() string {
	rules := make([]string, 0, len(b.keys))
	for _, key := range b.keys {
		rules = append(rules, fmt.Sprintf("%s: %q", key.Address(), b.server.URL+"/submit"))
	}
	return "{" + strings.Join(rules, ", ") + "}"
}

func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway was killed
	}
	e, err := envelope.Parse(body)
	if err != nil {
		http.Error(w, "not an envelope", http.StatusBadRequest)
		return
	}
	select {
	case b.answers(string(e.Session)) <- body:
	default: // no call waits for so many answers
	}
}

// mostAnswers is the maximum number of answers to one envelope that are kept: each gateway that receives the envelope may send one.
const mostAnswers = 16

// answers returns the channel for the answers in one session.
func (b *inbox) answers(session string) chan []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.awaited[session] == nil {
		b.awaited[session] = make(chan []byte, mostAnswers)
	}
	return b.awaited[session]
}

// An envelopeAgent uses the uAgents protocol.
type envelopeAgent struct {
	*agent
	key identity.Key
}

func (b *inbox) doorAgents(w *world) []*doorAgent {
	agents := make([]*doorAgent, 0, len(b.keys))
	for i, key := range b.keys {
		a := &envelopeAgent{&agent{w: w, id: string(key.Address())}, key}
		agents = append(agents, &doorAgent{
			agent: a.agent, hungry: i == len(b.keys)-1, agrees: a.agrees, token: func(string) token { return a.token() },
			ways: []func(call) way{
				func(c call) way { return a.written(c, wayEnvelope) }, func(c call) way { return a.written(c, wayLater) },
			},
			paid: pledge, at: w.anyGateway,
		})
	}
	return agents
}

func (a *envelopeAgent) door(g *gateway) via.UAgents {
	return via.UAgents{URL: g.url() + "/submit", Service: a.w.inbox.target, Key: a.key, Now: time.Now}
}

// agrees makes an agreement in an envelope.
func (a *envelopeAgent) agrees(g *gateway) error {
	digest, err := a.w.policyDigest(g)
	if err != nil {
		return err
	}
	door, session := a.door(g), string(envelope.NewSession())
	m, err := door.Agreement(session, digest, issuer, "", nil)
	if err != nil {
		return err
	}
	return a.take(a.posted(door, session, m))
}

// posted posts an envelope, and reads the envelope in the response.
func (a *envelopeAgent) posted(door via.UAgents, session string, m via.Message) (int, http.Header, []byte, error) {
	header := map[string]string{}
	for name := range m.Header {
		header[name] = m.Header.Get(name)
	}
	status, h, body, err := a.w.do(http.MethodPost, door.URL, m.Body, header)
	if err != nil {
		return 0, nil, nil, err
	}
	return read(door, session, fetch.Answer{Status: status, Header: h, Body: body})
}

func read(door via.UAgents, session string, a fetch.Answer) (int, http.Header, []byte, error) {
	answer, err := door.Read(session, a)
	if err != nil {
		wrong := []byte(err.Error())
		return a.Status, a.Header, wrong, nil //nolint:nilerr // this is a response; no judge accepts its reason
	}
	return answer.Status, answer.Header, answer.Body, nil
}

// A letter is a call in one envelope, which may be sent to several gateways and several times.
type letter struct {
	of      *envelopeAgent
	way     string
	session string
	via.Message
}

// written creates the envelope of a call. At random, half of the envelopes name no key: the envelope itself is then the key.
func (a *envelopeAgent) written(c call, way string) *letter {
	l := &letter{of: a, way: way, session: string(envelope.NewSession())}
	header := http.Header{"Authorization": {"Bearer " + c.token.text}}
	if pick([]bool{true, false}) {
		header.Set("Idempotency-Key", c.key)
	}
	var err error
	l.Message, err = via.UAgents{Service: a.w.inbox.target, Key: a.key, Now: time.Now}.Message(via.Call{
		ID: l.session, UID: c.intent, Parameters: map[string]any{"ref": c.ref}, Header: header,
	})
	if err != nil {
		a.w.t.Error(err)
	}
	return l
}

func (l *letter) name() string { return l.way }

func (l *letter) send(_ call, g *gateway) (int, http.Header, []byte, error) {
	door := l.of.door(g)
	if l.way == wayEnvelope {
		return l.of.posted(door, l.session, l.Message)
	}
	process, w := g.addresses.Load(), l.of.w
	status, h, body, err := w.do(http.MethodPost, door.URL, l.Body, map[string]string{"Content-Type": "application/json"})
	switch {
	case err != nil:
		return 0, nil, nil, err
	case status != http.StatusOK: // the call was not accepted
		return read(door, l.session, fetch.Answer{Status: status, Header: h, Body: body})
	}
	select {
	case w.accepted <- g:
	default:
	}
	for end := w.clock.now() + patience; w.clock.now() < end; {
		select {
		case body := <-w.inbox.answers(l.session):
			return read(door, l.session, fetch.Answer{Status: http.StatusOK, Header: http.Header{}, Body: body})
		case <-time.After(10 * time.Millisecond):
		}
		if g.addresses.Load() != process {
			return 0, nil, nil, fmt.Errorf("%s was killed: %w", g.name, errTaken)
		}
	}
	return 0, nil, nil, errTaken
}
