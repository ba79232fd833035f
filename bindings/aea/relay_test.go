package aea_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/gateway/door"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/acn"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

var relaying = strings.Replace(settings, "aea: {", "aea: {relay: {per_agent: 5/hour}, ", 1)

// activity returns the runtime status of the service's agent.
func activity(g *gatetest.Gate) runtime.Status {
	g.Helper()
	for _, s := range door.Statuses(g.Modules, g.Directory.Current().Service("default")) {
		if s, ok := s.Activity.(runtime.Status); ok && s.Address != "" {
			return s
		}
	}
	g.Fatal("no status of " + aea.Name)
	return runtime.Status{}
}

// TestRelayedNegotiation relays an ordinary negotiation between two agents, over each pair of connections.
func TestRelayedNegotiation(t *testing.T) {
	t.Parallel()
	for _, ways := range [][2]string{{"delegate", "delegate"}, {"delegate", "mailbox"}, {"mailbox", "delegate"}, {"mailbox", "mailbox"}} {
		t.Run(ways[0]+" to "+ways[1], func(t *testing.T) {
			t.Parallel()
			g := gatetest.New(t, relaying)
			at := addresses(g)
			buying, selling := aeatest.Numbered(t, 2), aeatest.Numbered(t, 3)
			buyer := aeatest.NewAgent(dialers[ways[0]](t, at, buying), selling.Public(identity.Fetchai).Address(), buying, identity.Fetchai)
			seller := aeatest.NewAgent(dialers[ways[1]](t, at, selling), buyer.Address(), selling, identity.Fetchai)
			buyer.Start(t, &protocol.FIPA, aeatest.CFP("a lamp"))
			request, _ := seller.FIPA(t, protocol.FIPACFP)
			seller.Reply(t, request, protocol.FIPAMessage{Performative: protocol.FIPAPropose})
			offered, _ := buyer.FIPA(t, protocol.FIPAPropose)
			buyer.Reply(t, offered, protocol.FIPAMessage{Performative: protocol.FIPAAccept})
			accepted, _ := seller.FIPA(t, protocol.FIPAAccept)
			seller.Reply(t, accepted, protocol.FIPAMessage{Performative: protocol.FIPAMatchAccept})
			matched, _ := buyer.FIPA(t, protocol.FIPAMatchAccept)
			buyer.Reply(t, matched, protocol.FIPAMessage{Performative: protocol.FIPAEnd})
			seller.FIPA(t, protocol.FIPAEnd)
			if s := activity(g); s.Relay.Relayed != 5 || s.Dialogues.HalfOpen+s.Dialogues.Open+s.Dialogues.Ended != 0 {
				t.Errorf("got %+v, %+v; want Relayed 5 and Dialogues.HalfOpen + s.Dialogues.Open + s.Dialogues.Ended 0", s, s.Relay)
			}

			// The gateway still serves the buyer itself, and it rejects messages beyond the relay limit in its own name.
			own := aeatest.NewAgent(buyer.Way, at["address"], buying, identity.Fetchai)
			if token := own.Agrees(t, gatetest.Searching); token == "" {
				t.Error("no PAT")
			}
			for range 3 {
				buyer.Start(t, &protocol.Default, aeatest.Text("more"))
			}
			e := buyer.Way.Next(t, buyer.Address())
			if e.Sender != at["address"] || activity(g).Relay.Held != 1 {
				t.Errorf("got %+v, %+v; want Sender %v and Held 1", e, activity(g).Relay, at["address"])
			}
		})
	}
}

// TestNotRelayed checks that the gateway does not relay a message if the sender did not prove its address or uses the name of another
// agent, and relays nothing without the block relay.
func TestNotRelayed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		settings, way string
		n             int // number of the sender's key
		as            int // number of the key whose address the message names as sender
		unserved      uint64
		refused       uint64
	}{
		"off by default":                    {settings: settings, way: "delegate", n: 2, as: 2, unserved: 1},
		"by tcp":                            {settings: relaying, way: "tcp", n: 2, as: 2, unserved: 1},
		"the name of another agent, by tcp": {settings: relaying, way: "tcp", n: 2, as: 4, refused: 1},
		"to nobody":                         {settings: relaying, way: "mailbox", n: 3, as: 3, unserved: 1},
		"by tcp, a proven address":          {settings: relaying, way: "tcp", n: 3, as: 3, unserved: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gatetest.New(t, row.settings)
			at, key := addresses(g), aeatest.Numbered(t, row.n)
			to := aeatest.Numbered(t, 3).Public(identity.Fetchai).Address()
			receiver := agent(g, "delegate", 3)
			if name == "to nobody" {
				to = aeatest.Numbered(t, 9).Public(identity.Fetchai).Address()
			}
			way := dialers[row.way](t, at, key)
			_, e, err := newDialogues(t, row.as).Start(protocol.Default.Specs[0], to, aeatest.Text("hello"))
			g.Must(err)
			way.Send(t, e)
			own := aeatest.NewAgent(way, at["address"], key, identity.Fetchai)
			if name == "to nobody" {
				m, ok := own.Next(t).Content.(protocol.DefaultMessage)
				if !ok || m.Code != protocol.CodeInvalidDialogue || len(m.Data["dialogue"]) == 0 {
					t.Errorf("got %+v", m)
				}
			}
			own.Calls(t, call(gatetest.Searching, "")) // the reply proves that the message before it was processed
			s := activity(g)
			var refused uint64
			for _, c := range s.Connections {
				refused += c.Refused
			}
			if s.Unserved != row.unserved || refused != row.refused || s.Relay != nil && s.Relay.Relayed != 0 {
				t.Errorf("got %+v, %+v", s, s.Relay)
			}
			if row.way != "tcp" || row.n != 3 {
				receiver.Calls(t, call(gatetest.Searching, "")) // the reply is the receiver's first message
			}
		})
	}
	t.Run("unknown receiver by delegate", func(t *testing.T) {
		t.Parallel()
		g := gatetest.New(t, relaying)
		at, key := addresses(g), aeatest.Numbered(t, 2)
		conn, _ := aeatest.Connect(t, at["delegate"])
		record := aeatest.Record(at["node_key"], key, identity.Fetchai)
		aeatest.Frame(t, conn, wire.ACN, acn.Message{Kind: acn.Register, Record: &record}.Encode())
		absent := aeatest.Numbered(t, 9).Public(identity.Fetchai).Address()
		_, e, err := newDialogues(t, 2).Start(protocol.Default.Specs[0], absent, aeatest.Text("hello"))
		g.Must(err)
		data, err := e.Encode()
		g.Must(err)
		aeatest.Frame(t, conn, wire.ACN, acn.Message{Kind: acn.Envelope, Envelope: data}.Encode())
		if first, second := aeatest.Status(t, conn), aeatest.Status(t, conn); first != acn.Success || second != acn.UnknownAgentAddress {
			t.Errorf("got %d, %d; want %v, %v", first, second, acn.Success, acn.UnknownAgentAddress)
		}
		if s := activity(g); s.Unserved != 1 || s.Relay.Relayed != 0 {
			t.Errorf("got %+v, %+v; want Unserved 1 and Relayed 0", s, s.Relay)
		}
	})
	t.Run("forged sender by delegate and mailbox", func(t *testing.T) {
		t.Parallel()
		g := gatetest.New(t, relaying)
		at := addresses(g)
		receiver, key := agent(g, "delegate", 3), aeatest.Numbered(t, 2)
		_, e, err := newDialogues(t, 4).Start(protocol.Default.Specs[0], receiver.Address(), aeatest.Text("hello"))
		g.Must(err)
		data, err := e.Encode()
		g.Must(err)
		config, record := aeatest.Trusting(t, at["mailbox"]), aeatest.Record(at["node_key"], key, identity.Fetchai)
		token := string(aeatest.HTTPS(t, config, at["mailbox"], "", "POST", "/register", record.Encode()))
		if status, _ := aeatest.TryHTTPS(t, config, at["mailbox"], token, "POST", "/send_envelope", data); status != 400 {
			t.Errorf("by mailbox: %d, want 400", status)
		}
		conn, _ := aeatest.Connect(t, at["delegate"])
		aeatest.Frame(t, conn, wire.ACN, acn.Message{Kind: acn.Register, Record: &record}.Encode())
		aeatest.Frame(t, conn, wire.ACN, acn.Message{Kind: acn.Envelope, Envelope: data}.Encode())
		if first, second := aeatest.Status(t, conn), aeatest.Status(t, conn); first != acn.Success || second != acn.WrongAgentAddress {
			t.Errorf("by delegate: %d, %d; want %v, %v", first, second, acn.Success, acn.WrongAgentAddress)
		}
		receiver.Calls(t, call(gatetest.Searching, ""))
		if s := activity(g); s.Relay.Relayed != 0 {
			t.Errorf("got %+v, want Relayed 0", s.Relay)
		}
	})
}

// newDialogues returns the dialogues of the agent with the nth key.
func newDialogues(t *testing.T, n int) *dialogue.Dialogues {
	t.Helper()
	address := aeatest.Numbered(t, n).Public(identity.Fetchai).Address()
	return dialogue.New(address, dialogue.DefaultLimits, time.Now)
}
