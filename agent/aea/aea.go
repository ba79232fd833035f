// Package aea is a small agent of the AEA framework that connects to a gateway over plain TCP. It negotiates with messages of the
// fipa protocol, and makes calls with messages of the http and default protocols. It does not authenticate the gateway: use it only
// for gateways on the same machine, in demonstrations and measurements.
package aea

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// answersWithin limits the wait for the next message.
const answersWithin = 20 * time.Second

// An Agent waits for one response at a time. It is not safe for concurrent use.
type Agent struct {
	key       identity.Key
	gateway   string // address of the gateway
	conn      net.Conn
	dialogues *dialogue.Dialogues
	now       func() time.Time
	shown     func(arrow, message string)
}

// Options identify the agent and the gateway. All fields except Shown are required.
type Options struct {
	Key     identity.Key
	Gateway string // AEA address of the gateway, fetch1…
	TCP     string // host and port at which the gateway accepts TCP connections
	Now     func() time.Time
	Shown   func(arrow, message string) // called with each message that is sent (>) or received (<); may be nil
}

// Dial connects an agent to the gateway, and sends the address of the agent as the handshake. ctx limits only the time to connect.
func Dial(ctx context.Context, o Options) (*Agent, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", o.TCP)
	if err != nil {
		return nil, err
	}
	a := &Agent{key: o.Key, gateway: o.Gateway, conn: conn, now: o.Now, shown: o.Shown}
	if a.shown == nil {
		a.shown = func(string, string) {}
	}
	a.dialogues = dialogue.New(a.Address(), dialogue.DefaultLimits, o.Now)
	if err := a.write([]byte(a.Address())); err != nil { // the handshake precedes every envelope
		return nil, errors.Join(err, conn.Close())
	}
	return a, nil
}

// Address returns the address of the agent.
func (a *Agent) Address() string { return a.key.Public(identity.Fetchai).Address() }

// Close ends the connection.
func (a *Agent) Close() error { return a.conn.Close() }

func (a *Agent) write(content []byte) error {
	frame, err := wire.TCP.Append(nil, content)
	if err == nil {
		err = a.conn.SetDeadline(a.now().Add(answersWithin))
	}
	if err == nil {
		_, err = a.conn.Write(frame)
	}
	return err
}

// send sends a message: a reply to a turn or, if to is nil, the first message of a new dialogue.
func (a *Agent) send(p *protocol.Protocol, to *dialogue.Turn, c protocol.Content) error {
	var e wire.Envelope
	var err error
	if to == nil {
		_, e, err = a.dialogues.Start(p.Specs[0], a.gateway, c)
	} else {
		e, err = to.Dialogue.Reply(to.Message.ID, c)
	}
	if err != nil {
		return err
	}
	data, err := e.Encode()
	if err != nil {
		return err
	}
	a.shown(">", p.Specs[0].Name+" "+string(c.Kind()))
	return a.write(data)
}

// next waits for the next message for the agent and returns it.
func (a *Agent) next() (dialogue.Turn, error) {
	frame, err := wire.TCP.Read(a.conn)
	if err != nil {
		return dialogue.Turn{}, err
	}
	e, err := wire.DecodeEnvelope(frame)
	if err != nil {
		return dialogue.Turn{}, err
	}
	turn, err := a.dialogues.Receive(e)
	if err != nil {
		return dialogue.Turn{}, err
	}
	a.shown("<", e.Protocol.Name+" "+string(turn.Content.Kind()))
	return turn, nil
}

func (a *Agent) ask(p *protocol.Protocol, to *dialogue.Turn, c protocol.Content) (dialogue.Turn, error) {
	if err := a.send(p, to, c); err != nil {
		return dialogue.Turn{}, err
	}
	return a.next()
}

var errAnswer = errors.New("unexpected response from the gateway")

// Negotiate agrees to the gateway's offer for an intent, and returns the PAT and its scope.
func (a *Agent) Negotiate(intent string) (token, scope string, err error) {
	wanted := search.Query{Constraints: []search.Expr{
		search.Constraint{Attribute: "intent_uid", Test: search.Relation{Value: search.Text(intent)}},
	}}
	turn, err := a.ask(&protocol.FIPA, nil, protocol.FIPAMessage{Performative: protocol.FIPACFP, Query: wanted})
	if err != nil {
		return "", "", err
	}
	offer, _ := turn.Content.(protocol.FIPAMessage)
	if offer.Performative != protocol.FIPAPropose {
		return "", "", a.refused(turn)
	}
	value := func(name string) string { text, _ := offer.Proposal.Value(name).(search.Text); return string(text) }
	agreement := identity.Agreement{Gateway: a.gateway, Agent: a.Address(), PolicySHA256: value("policy_sha256"), Nonce: value("tx_nonce")}
	turn, err = a.ask(&protocol.FIPA, &turn, protocol.FIPAMessage{Performative: protocol.FIPAAcceptWInform, Info: map[string]string{
		"public_key": a.key.Public(identity.Fetchai).String(), "signature": a.key.Sign(identity.Fetchai, agreement.Text()),
		"policy_sha256": agreement.PolicySHA256, "tx_nonce": agreement.Nonce,
	}})
	if err != nil {
		return "", "", err
	}
	match, _ := turn.Content.(protocol.FIPAMessage)
	if match.Info["pat"] == "" {
		return "", "", a.refused(turn)
	}
	return match.Info["pat"], value("scope"), a.send(&protocol.FIPA, &turn, protocol.FIPAMessage{Performative: protocol.FIPAEnd})
}

// refused returns the error for a negotiation that the gateway ended. If the gateway states the reason in a separate message,
// refused waits for that message.
func (a *Agent) refused(turn dialogue.Turn) error {
	if m, ok := turn.Content.(protocol.FIPAMessage); ok && (m.Performative == protocol.FIPADecline || m.Performative == protocol.FIPAEnd) {
		if next, err := a.next(); err == nil {
			turn = next
		}
	}
	if m, ok := turn.Content.(protocol.DefaultMessage); ok && m.Performative == protocol.DefaultError {
		return fmt.Errorf("%w: %s", errAnswer, m.Text)
	}
	return fmt.Errorf("%w: %s", errAnswer, turn.Content.Kind())
}

// Request sends an HTTP request and returns the response.
func (a *Agent) Request(method, url string, header http.Header, body []byte) (protocol.HTTPMessage, error) {
	turn, err := a.ask(&protocol.HTTP, nil, protocol.HTTPMessage{
		Performative: protocol.HTTPRequest, Method: method, URL: url, Header: header, Body: body,
	})
	if err != nil {
		return protocol.HTTPMessage{}, err
	}
	answer, ok := turn.Content.(protocol.HTTPMessage)
	if !ok {
		return protocol.HTTPMessage{}, errAnswer
	}
	return answer, nil
}

// Call sends a call as the bytes of a default message and returns the bytes of the response.
func (a *Agent) Call(call []byte) ([]byte, error) {
	turn, err := a.ask(&protocol.Default, nil, protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: call})
	if err != nil {
		return nil, err
	}
	answer, ok := turn.Content.(protocol.DefaultMessage)
	if !ok || answer.Performative != protocol.DefaultBytes {
		return nil, errAnswer
	}
	return answer.Bytes, a.send(&protocol.Default, &turn, protocol.DefaultMessage{Performative: protocol.DefaultEnd})
}
