package aeatest

import (
	"encoding/hex"
	"testing"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// Keys that others have published for tests.
const (
	KeyOne       = "0000000000000000000000000000000000000000000000000000000000000001"
	KeyPublished = "6d8d2b87d987641e2ca3f1991c1cccf08a118759e81fabdbf7e8484f27af015e"
)

// Key returns a private key of 64 hexadecimal digits.
func Key(tb testing.TB, digits string) identity.Key {
	tb.Helper()
	data, err := hex.DecodeString(digits)
	if err != nil {
		tb.Fatal(err)
	}
	key, err := identity.NewKey(data)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// A Way carries envelopes between an agent and a gateway.
type Way interface {
	Send(tb testing.TB, e wire.Envelope)
	// Next returns the next envelope to the agent.
	Next(tb testing.TB, agent string) wire.Envelope
}

// An Agent is an agent with a key, at the other end of a Way.
type Agent struct {
	Key       identity.Key
	Ledger    identity.Ledger
	Gateway   string // the gateway's address
	Way       Way
	dialogues *dialogue.Dialogues
}

// NewAgent returns an agent with a key.
func NewAgent(way Way, gateway string, key identity.Key, ledger identity.Ledger) *Agent {
	a := &Agent{Key: key, Ledger: ledger, Gateway: gateway, Way: way}
	a.dialogues = dialogue.New(a.Address(), dialogue.DefaultLimits, func() time.Time { return time.Time{} })
	return a
}

// Address returns the address of the agent.
func (a *Agent) Address() string { return a.Key.Public(a.Ledger).Address() }

// Start begins a dialogue and returns the envelope that it sent.
func (a *Agent) Start(tb testing.TB, p *protocol.Protocol, c protocol.Content) wire.Envelope {
	tb.Helper()
	_, e, err := a.dialogues.Start(p.Specs[0], a.Gateway, c)
	if err != nil {
		tb.Fatal(err)
	}
	a.Way.Send(tb, e)
	return e
}

// Next returns the next message to the agent, which belongs to a dialogue or is an error outside dialogues.
func (a *Agent) Next(tb testing.TB) dialogue.Turn {
	tb.Helper()
	t, err := a.dialogues.Receive(a.Way.Next(tb, a.Address()))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// Reply replies to a message.
func (a *Agent) Reply(tb testing.TB, to dialogue.Turn, c protocol.Content) {
	tb.Helper()
	e, err := to.Dialogue.Reply(to.Message.ID, c)
	if err != nil {
		tb.Fatal(err)
	}
	a.Way.Send(tb, e)
}

// FIPA returns the next message. It ends the test unless that is a message of fipa with the wanted performative.
func (a *Agent) FIPA(tb testing.TB, want protocol.Performative) (dialogue.Turn, protocol.FIPAMessage) {
	tb.Helper()
	t := a.Next(tb)
	m, ok := t.Content.(protocol.FIPAMessage)
	if !ok || m.Performative != want {
		tb.Fatalf("%+v, want %s", t.Content, want)
	}
	return t, m
}

// Refusal returns the text of the next message and the UIM error in it. It ends the test unless the message is an error of default.
func (a *Agent) Refusal(tb testing.TB) (text, uim string) {
	tb.Helper()
	m, ok := a.Next(tb).Content.(protocol.DefaultMessage)
	if !ok || m.Performative != protocol.DefaultError || m.Code != protocol.CodeInvalidMessage {
		tb.Fatalf("%+v, want an error", m)
	}
	return m.Text, string(m.Data["uim_error"])
}

// Asks calls for proposals of an intent, and returns the offer.
func (a *Agent) Asks(tb testing.TB, intent string) (dialogue.Turn, search.Description) {
	tb.Helper()
	a.Start(tb, &protocol.FIPA, CFP(intent))
	t, m := a.FIPA(tb, protocol.FIPAPropose)
	return t, m.Proposal
}

// CFP returns a call for proposals of one intent.
func CFP(intent string) protocol.FIPAMessage {
	return protocol.FIPAMessage{Performative: protocol.FIPACFP, Query: search.Query{Constraints: []search.Expr{
		search.Constraint{Attribute: "intent_uid", Test: search.Relation{Value: search.Text(intent)}},
	}}}
}

// Info returns the signed acceptance of an offer.
func (a *Agent) Info(offer search.Description) map[string]string {
	return a.Signed(TextOf(offer, "policy_sha256"), TextOf(offer, "tx_nonce"))
}

// Signed returns a signed acceptance of a policy under a nonce.
func (a *Agent) Signed(policySHA256, nonce string) map[string]string {
	text := identity.Agreement{Gateway: a.Gateway, Agent: a.Address(), PolicySHA256: policySHA256, Nonce: nonce}.Text()
	return map[string]string{
		"public_key": a.Key.Public(a.Ledger).String(), "ledger_id": string(a.Ledger), "signature": a.Key.Sign(a.Ledger, text),
		"policy_sha256": policySHA256, "tx_nonce": nonce,
	}
}

// Agrees negotiates an intent, ends the dialogue, and returns the PAT.
func (a *Agent) Agrees(tb testing.TB, intent string) string {
	tb.Helper()
	t, offer := a.Asks(tb, intent)
	a.Reply(tb, t, protocol.FIPAMessage{Performative: protocol.FIPAAcceptWInform, Info: a.Info(offer)})
	t, m := a.FIPA(tb, protocol.FIPAMatchAcceptWInform)
	if m.Info["pat"] == "" {
		tb.Fatalf("got %v", m.Info)
	}
	a.Reply(tb, t, protocol.FIPAMessage{Performative: protocol.FIPAEnd})
	return m.Info["pat"]
}

// Calls sends bytes of default and returns the bytes of the reply.
func (a *Agent) Calls(tb testing.TB, text string) string {
	tb.Helper()
	a.Start(tb, &protocol.Default, protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: []byte(text)})
	m, ok := a.Next(tb).Content.(protocol.DefaultMessage)
	if !ok || m.Performative != protocol.DefaultBytes {
		tb.Fatalf("%+v, want bytes", m)
	}
	return string(m.Bytes)
}

// Requests sends a request of http, and returns the response.
func (a *Agent) Requests(tb testing.TB, r protocol.HTTPMessage) protocol.HTTPMessage {
	tb.Helper()
	r.Performative = protocol.HTTPRequest
	a.Start(tb, &protocol.HTTP, r)
	m, ok := a.Next(tb).Content.(protocol.HTTPMessage)
	if !ok || m.Performative != protocol.HTTPResponse {
		tb.Fatalf("%+v, want a response", m)
	}
	return m
}

// TextOf returns the value of a text attribute.
func TextOf(d search.Description, name string) string {
	text, _ := d.Value(name).(search.Text)
	return string(text)
}

// Register returns a message that registers a description with a directory.
func Register(d search.Description) protocol.OEFMessage {
	return protocol.OEFMessage{Performative: protocol.OEFRegisterService, Description: d.Encode()}
}

// Unregister returns a message that withdraws a description.
func Unregister(d search.Description) protocol.OEFMessage {
	return protocol.OEFMessage{Performative: protocol.OEFUnregisterService, Description: d.Encode()}
}
