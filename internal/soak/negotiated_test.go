package soak

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/daemon"
	"github.com/uimgate/uimgate/internal/reason"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// The ways of agents of the AEA framework.
const (
	wayRequest = "AEA http"
	wayBytes   = "AEA bytes"
)

// keyFile holds the identity that all gateways have in the AEA framework.
const keyFile = "aea.key"

// A negotiator is an agent of the AEA framework. It has one connection at a time.
type negotiator struct {
	*agent
	key     identity.Key
	connect func(tb testing.TB, at map[string]string, key identity.Key) aeatest.Way

	mu      sync.Mutex
	gateway *gateway
	process *daemon.Addresses // the process that it is connected to; nil if it is not connected
	trial   *trial
	line    *aeatest.Agent
	until   time.Duration // when it leaves the connection

	granted sync.Map // intent → token
}

// The types of connections of those agents.
var connections = []func(tb testing.TB, at map[string]string, key identity.Key) aeatest.Way{
	func(tb testing.TB, at map[string]string, key identity.Key) aeatest.Way {
		tb.Helper()
		return aeatest.TCP(tb, at["tcp"], key.Public(identity.Fetchai).Address())
	},
	func(tb testing.TB, at map[string]string, key identity.Key) aeatest.Way {
		tb.Helper()
		return aeatest.Delegate(tb, at["delegate"], at["node_key"], key, identity.Fetchai)
	},
}

// negotiators creates two agents for each type of connection. The second one calls over its limits.
func (w *world) negotiators() []*doorAgent {
	w.t.Helper()
	agents := make([]*doorAgent, 0, 2*len(connections))
	for i := range 2 * len(connections) {
		digits := make([]byte, 32)
		_, _ = rand.Read(digits)
		key, err := identity.NewKey(digits)
		if err != nil {
			w.t.Fatal(err)
		}
		a := &negotiator{
			agent: &agent{w: w, id: key.Public(identity.Fetchai).Address()}, key: key, connect: connections[i%len(connections)],
		}
		w.t.Cleanup(a.hangUp)
		hungry, wanted := i >= len(connections), []string{order}
		if hungry {
			wanted = []string{browse, ceiled}
		}
		agents = append(agents, &doorAgent{
			agent: a.agent, hungry: hungry, paid: order, at: a.near,
			agrees: func(g *gateway) error { return a.agrees(g, wanted) },
			token: func(intent string) token {
				t, _ := a.granted.Load(intent)
				granted, _ := t.(token)
				return granted
			},
			ways: []func(call) way{func(call) way { return &message{a, wayRequest} }, func(call) way { return &message{a, wayBytes} }},
		})
	}
	return agents
}

// near returns the gateway that the agent is connected to, as long as its process lives, stopped or not; otherwise any gateway.
func (a *negotiator) near() *gateway {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.process != nil && a.gateway.addresses.Load() == a.process && a.w.clock.now() < a.until {
		return a.gateway
	}
	return a.w.anyGateway()
}

// agrees negotiates the intents one after another.
func (a *negotiator) agrees(g *gateway, wanted []string) error {
	for _, intent := range wanted {
		var text string
		err := a.talk(g, func(t *trial, line *aeatest.Agent) (err error) {
			text, err = negotiates(t, line, intent)
			return err
		})
		if err != nil {
			return err
		}
		id, err := tokenID(text)
		if err != nil {
			return err
		}
		a.granted.Store(intent, token{id, text})
	}
	return nil
}

// A trial replaces the test for agents of package aeatest: a failure ends the exchange, but does not fail the test.
type trial struct {
	testing.TB
	last []func()
}

// A failure is the value with which a trial panics to end an exchange.
type failure struct{ why string }

func (t *trial) Cleanup(do func()) { t.last = append(t.last, do) }

func (t *trial) Fatal(args ...any) { panic(failure{fmt.Sprint(args...)}) }

func (t *trial) Fatalf(format string, args ...any) { panic(failure{fmt.Sprintf(format, args...)}) }

// A connection is used for a random time between these. The agents of aeatest can use one for half a minute, and a gateway accepts at most
// 30 registrations per minute from one address.
const (
	connectedFrom = 5 * time.Second
	connectedTo   = 10 * time.Second
)

// talk has an exchange with a gateway over the agent's connection. The first failure ends the exchange and the connection; it means that
// the gateway was killed. A refusal is not a failure: it is returned as the error of do, and the connection stays open.
func (a *negotiator) talk(g *gateway, do func(t *trial, line *aeatest.Agent) error) (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := g.addresses.Load()
	if at == nil {
		return errNoGateway
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			if a.hangUp(); g.addresses.Load() == at {
				a.w.t.Errorf("%s lost its connection to %s, which was not killed: %s", a.id, g.name, p.why)
			}
			err = errors.New(p.why)
		default:
			panic(p)
		}
	}()
	if now := a.w.clock.now(); a.process != at || now >= a.until {
		a.hangUp()
		a.gateway, a.trial = g, &trial{TB: a.w.t}
		own := at.Doors["aea"]
		way := &reasonFilter{a.connect(a.trial, own, a.key), a.declined}
		a.line = aeatest.NewAgent(way, own["address"], a.key, identity.Fetchai)
		a.process, a.until = at, now+random(connectedFrom, connectedTo)
	}
	return do(a.trial, a.line)
}

func (a *negotiator) hangUp() {
	if a.trial != nil {
		for _, do := range a.trial.last {
			do()
		}
	}
	a.process, a.trial, a.line = nil, nil, nil
}

// A message is a call as a message of one of two protocols of the framework.
type message struct {
	of  *negotiator
	way string
}

func (m *message) name() string { return m.way }

func (m *message) send(c call, g *gateway) (status int, h http.Header, body []byte, err error) {
	err = m.of.talk(g, func(t *trial, line *aeatest.Agent) error {
		if m.way == wayRequest {
			status, h, body = requested(t, line, c)
		} else {
			status, h, body = sent(t, line, c)
		}
		return nil
	})
	return status, h, body, err
}

func requested(t *trial, line *aeatest.Agent, c call) (int, http.Header, []byte) {
	header := http.Header{"Authorization": {"Bearer " + c.token.text}, "Content-Type": {"application/json"}}
	if c.key != "" {
		header.Set("Idempotency-Key", c.key)
	}
	answer := line.Requests(t, protocol.HTTPMessage{
		Method: http.MethodPost, URL: publicURL + "/api/intents/execute", Header: header, Body: c.body(),
	})
	return answer.Status, answer.Header, answer.Body
}

// sent sends a call as bytes. The answer consists only of the output or the error.
func sent(t *trial, line *aeatest.Agent, c call) (int, http.Header, []byte) {
	statement := map[string]any{"intent_uid": c.intent, "parameters": map[string]string{"ref": c.ref}, "pat": c.token.text}
	if c.key != "" {
		statement["idempotency_key"] = c.key
	}
	body := []byte(line.Calls(t, string(mustJSON(statement))))
	var refused struct {
		Error struct {
			Details struct{ Reason reason.Reason }
		}
	}
	if err := json.Unmarshal(body, &refused); err == nil && refused.Error.Details.Reason != "" {
		return refused.Error.Details.Reason.Status(), http.Header{}, body
	}
	return http.StatusOK, http.Header{}, body
}
