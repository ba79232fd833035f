package aea_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// TestNegotiationsOutOfOrder sends each message where its dialogue does not permit it. The only replies are errors, and the agent is
// served afterwards.
func TestNegotiationsOutOfOrder(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	message := func(from string, id, target int32, ref, responder string, c protocol.Content) wire.Envelope {
		data, err := wire.Message{ID: id, Target: target, StarterRef: ref, ResponderRef: responder, Content: c.Encode()}.Encode()
		s.Must(err)
		return wire.Envelope{To: s.address, Sender: from, Protocol: protocol.FIPA.Specs[0], Message: data}
	}
	say := func(p protocol.Performative) protocol.FIPAMessage {
		return protocol.FIPAMessage{Performative: p, Info: map[string]string{"tx_nonce": "x"}}
	}
	for i, p := range []protocol.Performative{
		protocol.FIPAAccept, protocol.FIPAAcceptWInform, protocol.FIPAInform, protocol.FIPAMatchAccept, protocol.FIPAMatchAcceptWInform,
		protocol.FIPAPropose, protocol.FIPADecline, protocol.FIPAEnd,
	} {
		a := s.other(i)
		for n, e := range []wire.Envelope{
			message(a.Address(), 1, 0, "first", "", say(p)),         // does not start a dialogue
			message(a.Address(), 2, -1, "unknown", "x", say(p)),     // unknown dialogue
			message(a.Address(), -1, 1, "theirs", "x", say(p)),      // dialogue that the service did not start
			message(a.Address(), 1, 0, "first", "named", say(p)),    // starts a dialogue and replies at once
			message(a.Address(), 2147483647, 1, "huge", "", say(p)), // far ahead
		} {
			s.line.Send(t, e)
			if m, ok := a.Next(t).Content.(protocol.DefaultMessage); !ok || m.Code != protocol.CodeInvalidDialogue {
				t.Errorf("%s, %d: %+v", p, n, m)
			}
		}
		turn, offer := a.Asks(t, gatetest.Searching)
		e, err := turn.Dialogue.Reply(turn.Message.ID, accept(a.Info(offer)))
		s.Must(err)
		s.line.Send(t, e)
		a.FIPA(t, protocol.FIPAMatchAcceptWInform)
		s.line.Send(t, e) // the same envelope again
		if m, ok := a.Next(t).Content.(protocol.DefaultMessage); !ok || m.Code != protocol.CodeInvalidDialogue {
			t.Errorf("%s, again: %+v", p, m)
		}
		if pats, err := s.Store.Newest(t.Context(), "default", "", s.Now(), 10); err != nil || len(pats) != 0 {
			t.Errorf("got %v, %v; want none, nil", pats, err)
		}
	}
}

// TestFloodOfOffers makes many agents call for proposals without continuing, and checks that another agent can still agree.
func TestFloodOfOffers(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	var floods sync.WaitGroup
	for n := range 4 {
		floods.Go(func() {
			a := s.other(n)
			for range 150 {
				a.Start(t, &protocol.FIPA, aeatest.CFP(gatetest.Searching))
				if _, ok := a.Next(t).Content.(protocol.FIPAMessage); !ok { // an error comes with a decline
					a.Next(t)
				}
			}
		})
	}
	good := s.agent(identity.Fetchai)
	for range 5 {
		turn, offer := good.Asks(t, gatetest.Searching)
		good.Reply(t, turn, accept(good.Info(offer)))
		if _, m := good.FIPA(t, protocol.FIPAMatchAcceptWInform); m.Info["pat"] == "" {
			t.Error(m.Info)
		}
	}
	floods.Wait()
	late := s.other(100)
	for n := range 130 {
		late.Start(t, &protocol.FIPA, aeatest.CFP(gatetest.Searching))
		m, _ := late.Next(t).Content.(protocol.FIPAMessage)
		if (m.Performative == protocol.FIPAPropose) != (n < 120) {
			t.Fatalf("%d: %s", n, m.Performative)
		}
		if n < 120 {
			continue
		}
		if _, uim := late.Refusal(t); refusal(uim) != "TOO_MANY_CONNECTIONS" {
			t.Error(uim)
		}
	}
}

// TestFloodOfWrongSignatures checks that invalid signatures use up only the sender's own limit.
func TestFloodOfWrongSignatures(t *testing.T) {
	t.Parallel()
	s := opened(t, "server: {issue_per_address: 5/minute, per_address: 10000/second}\n"+
		"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n")
	a, good := s.other(1), s.agent(identity.Fetchai)
	refusals := map[string]int{}
	for range 8 {
		turn, offer := a.Asks(t, gatetest.Searching)
		info := a.Info(offer)
		info["signature"] = good.Info(offer)["signature"]
		a.Reply(t, turn, accept(info))
		a.FIPA(t, protocol.FIPADecline)
		_, uim := a.Refusal(t)
		refusals[refusal(uim)]++
	}
	if refusals["BAD_SIGNATURE"] != 5 || refusals["TOO_MANY_CONNECTIONS"] != 3 {
		t.Error(fmt.Sprint(refusals))
	}
	if token := good.Agrees(t, gatetest.Searching); !strings.Contains(token, ".") {
		t.Error("another agent got no PAT")
	}
}

// TestAgreementsOfManySenders checks that the agreements of all senders share one limit, in every form, because an agent can create any
// number of addresses.
func TestAgreementsOfManySenders(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	refusals := map[string]int{}
	for n := range 30 {
		a := s.other(n)
		turn, offer := a.Asks(t, gatetest.Searching)
		a.Reply(t, turn, accept(a.Info(offer)))
		if m, ok := a.Next(t).Content.(protocol.FIPAMessage); ok && m.Performative == protocol.FIPADecline {
			_, uim := a.Refusal(t)
			refusals[refusal(uim)]++
		}
	}
	answer := s.other(40).Requests(t, protocol.HTTPMessage{Method: "POST", URL: "/pat/issue"})
	if refusals["OVERLOADED"] != 10 || len(refusals) != 1 || answer.Status != http.StatusServiceUnavailable {
		t.Errorf("got %v, %d %s", refusals, answer.Status, answer.Body)
	}
	s.Pass(time.Second)
	if token := s.other(41).Agrees(t, gatetest.Searching); token == "" {
		t.Error("no PAT a second later")
	}
}
