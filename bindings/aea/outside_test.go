package aea_test

import (
	"os"
	"path/filepath"
	gosched "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// until waits until the status of the agent meets a condition.
func until(g *gatetest.Gate, what string, is func(runtime.Status) bool) {
	g.Helper()
	for !is(activity(g)) {
		if g.T.Context().Err() != nil {
			g.Fatalf("%s: got %+v", what, activity(g))
		}
		gosched.Gosched()
	}
}

// TestMessagesToComponentsFromOutside has peers that need not prove their address claim the id of a skill of the agent, and send the
// decision maker and the skill intents messages in its name. The gateway drops them, and signs and executes nothing.
func TestMessagesToComponentsFromOutside(t *testing.T) {
	t.Parallel()
	stub := t.TempDir()
	for _, name := range []string{"input_file", "output_file"} {
		if err := os.WriteFile(filepath.Join(stub, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := gatetest.New(t, strings.Replace(settings, "aea: {", "aea: {stub: '"+stub+"', ", 1))
	at := addresses(g)
	envelopes := map[string]wire.Envelope{}
	for to, c := range map[wire.PublicID]protocol.Content{
		runtime.DecisionMakerID: protocol.SigningMessage{Performative: protocol.SigningSignTransaction, Payload: []byte(orderOf("lamp"))},
		skill.ID:                aeatest.Text(call(gatetest.Searching, "")),
	} {
		data, err := wire.Message{ID: 1, StarterRef: "r", Content: c.Encode()}.Encode()
		g.Must(err)
		spec := protocol.Signing.Specs[0]
		if to == skill.ID {
			spec = protocol.Default.Specs[0]
		}
		envelopes[to.String()] = wire.Envelope{To: to.String(), Sender: "shop/spender:1.0.0", Protocol: spec, Message: data}
	}
	var records []byte
	for _, e := range envelopes {
		record, err := wire.AppendRecord(nil, e)
		g.Must(err)
		records = append(records, record...)
		aeatest.TCP(t, at["tcp"], e.Sender).Send(t, e)
	}
	g.Must(os.WriteFile(filepath.Join(stub, "output_file"), records, 0o600))
	count := func(s runtime.Status, name string) (n uint64) {
		for _, c := range s.Connections {
			if strings.Contains(c.ID, name) {
				n = c.Received + c.Refused
			}
		}
		return n
	}
	until(g, "the messages did not arrive", func(s runtime.Status) bool { return count(s, "stub") >= 2 && count(s, "tcp") >= 1 })
	a := agent(g, "delegate", 2)
	if answer := a.Calls(t, call(gatetest.Searching, a.Agrees(t, gatetest.Searching))); answer != `{"ok":true}` {
		t.Errorf("got %q, want %q", answer, `{"ok":true}`)
	}
	s := activity(g)
	if s.Unserved < 2 || s.Dialogues.HalfOpen > 2 || len(signings(g)) != 0 {
		t.Errorf("got %+v, %+v", s, signings(g))
	}
	for _, one := range s.Skills {
		if state, ok := one.State.(runtime.DecisionStatus); ok && (state.Refused != 0 || one.Handled != 0) {
			t.Errorf("the decision maker got a message from outside: %+v", one)
		}
	}
}

// TestClosedDefaultConnection checks that a gateway whose default connection is closed reports what it cannot send, and still serves agents
// on its other connections. An error that it sends has the data of the framework's error handler.
func TestClosedDefaultConnection(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	directory := aeatest.Numbered(t, 5).Public(identity.Fetchai).Address()
	g := gatetest.New(t, strings.Replace(settings, "aea: {",
		"aea: {stub: '"+filepath.Join(file, "none")+"', default_connection: stub, directory: {address: "+directory+"}, ", 1))
	// The registration fails at once or, if it was sent before the connection failed, when the directory has not replied for a minute.
	until(g, "the stub dropped no envelope", func(s runtime.Status) bool {
		return slices.ContainsFunc(s.Connections, func(c runtime.ConnectionStatus) bool {
			return strings.Contains(c.ID, "stub") && c.Dropped > 0 && c.LastError != "" && c.Sent == 0
		})
	})
	a := agent(g, "delegate", 2)
	if answer := a.Calls(t, call(gatetest.Searching, a.Agrees(t, gatetest.Searching))); answer != `{"ok":true}` {
		t.Errorf("got %q, want %q", answer, `{"ok":true}`)
	}
	data, err := wire.Message{ID: 1, StarterRef: "r", Content: []byte("x")}.Encode()
	g.Must(err)
	unknown := wire.PublicID{Author: "shop", Name: "unknown", Version: "1.0.0"}
	a.Way.Send(t, wire.Envelope{To: a.Gateway, Sender: a.Address(), Protocol: unknown, Message: data})
	m, _ := a.Next(t).Content.(protocol.DefaultMessage)
	if m.Code != protocol.CodeUnsupportedProtocol || len(m.Data["protocol_id"]) == 0 || len(m.Data["envelope"]) == 0 {
		t.Errorf("got %+v, want the code %d with protocol_id and envelope", m, protocol.CodeUnsupportedProtocol)
	}
}
