package aea_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/gateway/door"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// TestHalfOpenDialogues makes many agents start thousands of dialogues over tcp without continuing them. The state stays bounded, and the
// gateway still serves an agent of the delegate and the public listener.
func TestHalfOpenDialogues(t *testing.T) {
	t.Parallel()
	const each = 250 // of which each agent may leave 64 open
	g := gatetest.New(t, settings)
	at := addresses(g)
	good := agent(g, "delegate", 2)
	token := good.Agrees(t, gatetest.Searching)
	var flooding sync.WaitGroup
	for n := range flooders {
		flooding.Go(func() {
			a := aeatest.TCP(t, at["tcp"], fmt.Sprintf("flood-%d", n))
			for i := range each {
				c := protocol.Content(aeatest.CFP(gatetest.Searching))
				spec := protocol.FIPA.Specs[0]
				if i%2 == 1 {
					c, spec = aeatest.Text("{"), protocol.Default.Specs[0]
				}
				data, err := wire.Message{ID: 1, StarterRef: fmt.Sprint(i), Content: c.Encode()}.Encode()
				if err == nil {
					data, err = wire.Envelope{To: at["address"], Sender: a.Address, Protocol: spec, Message: data}.Encode()
				}
				if err == nil {
					data, err = wire.TCP.Append(nil, data)
				}
				if err == nil {
					_, err = a.Raw.Write(data)
				}
				if err != nil { // the flooder reads no replies, so the gateway may disconnect it
					return
				}
			}
		})
	}
	for range 20 {
		if answer := good.Calls(t, call(gatetest.Searching, token)); answer != `{"ok":true}` {
			t.Errorf("got %q, want %q", answer, `{"ok":true}`)
		}
		if a := g.Get("/api/intents/search"); a.Status != http.StatusOK {
			t.Errorf("got %d, want %d", a.Status, http.StatusOK)
		}
	}
	flooding.Wait()
	good.Agrees(t, gatetest.Ordering)
	for _, s := range door.Statuses(g.Modules, g.Directory.Current().Service("default")) {
		if status, ok := s.Activity.(runtime.Status); ok && (status.Dialogues.HalfOpen > runtime.DefaultLimits.Dialogues.HalfOpen ||
			status.Dialogues.HalfOpen > (flooders+1)*runtime.DefaultLimits.Dialogues.PerOpponent) {
			t.Errorf("got %+v", status.Dialogues)
		}
	}
}

// TestForeignPATs replays the messages of an agent from other agents, and checks that no call reaches the service.
func TestForeignPATs(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	var reached atomic.Int64
	victim := agent(g, "delegate", 2)
	token := victim.Agrees(t, gatetest.Searching)
	g.Upstream = func(http.ResponseWriter, *http.Request) { reached.Add(1) }
	at := addresses(g)
	for n, name := range []string{"tcp", "delegate", "mailbox"} {
		thief := agent(g, name, 3+n)
		if answer := thief.Calls(t, call(gatetest.Searching, token)); !strings.Contains(answer, "INVALID_TOKEN") {
			t.Errorf("%s: %s, want a text that contains %q", name, answer, "INVALID_TOKEN")
		}
		answer := thief.Requests(t, protocol.HTTPMessage{
			Method: "POST", URL: "/api/intents/execute", Header: http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}},
			Body: []byte(`{"intent_uid": "shop.example:search:v1", "parameters": {"query": "lamp"}}`),
		})
		if answer.Status != http.StatusUnauthorized || !strings.Contains(string(answer.Body), "INVALID_TOKEN") {
			t.Errorf("%s: %d %s", name, answer.Status, answer.Body)
		}
		// The victim's signature is invalid in a negotiation of another agent.
		turn, offer := thief.Asks(t, gatetest.Searching)
		signed := victim.Info(offer)
		thief.Reply(t, turn, protocol.FIPAMessage{Performative: protocol.FIPAAcceptWInform, Info: signed})
		thief.FIPA(t, protocol.FIPADecline)
		if _, uim := thief.Refusal(t); !strings.Contains(uim, "BAD_SIGNATURE") {
			t.Errorf("%s: %s, want a text that contains %q", name, uim, "BAD_SIGNATURE")
		}
	}
	// Over tcp an agent can claim the victim's address, but it lacks the victim's PAT.
	alias := aeatest.NewAgent(aeatest.TCP(t, at["tcp"], victim.Address()), at["address"], aeatest.Numbered(t, 9), identity.Fetchai)
	e := wire.Envelope{To: at["address"], Sender: victim.Address(), Protocol: protocol.Default.Specs[0]}
	var err error
	e.Message, err = wire.Message{ID: 1, StarterRef: "x", Content: aeatest.Text(call(gatetest.Searching, "x")).Encode()}.Encode()
	g.Must(err)
	alias.Way.Send(t, e)
	if answer := alias.Way.Next(t, victim.Address()); !strings.Contains(string(answer.Message), "INVALID_TOKEN") {
		t.Errorf("got %q", answer.Message)
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d calls reached the service, want 0", n)
	}
}
