package aea_test

import (
	"strings"
	"testing"

	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// TestReloadDuringNegotiation reloads the configuration between an offer and its acceptance. If the reload changes nothing, the offer is
// valid, once. If it changes the policy, the offer is outdated, and the negotiation ends. If it replaces the agent of the service, the new
// agent does not know the negotiation. In all cases, the store has only agreements whose PAT the agent received, and the agent can
// negotiate again.
func TestReloadDuringNegotiation(t *testing.T) {
	t.Parallel()
	dearer := func(g *gatetest.Gate) {
		g.Write("policy.json", strings.Replace(gatetest.PolicyFile, `"0.25"`, `"0.75"`, 1))
	}
	for name, row := range map[string]struct {
		change func(*gatetest.Gate)
		plain  bool   // the agent accepts without a signature, and gets the text to sign
		signed bool   // the agent got the text to sign before the reload
		want   string // reason of the refusal; empty: the acceptance succeeds
		moved  bool   // the reload ends the connections
	}{
		"nothing changes":                       {change: func(*gatetest.Gate) {}},
		"nothing changes, accepted plainly":     {change: func(*gatetest.Gate) {}, plain: true},
		"another price":                         {change: dearer, want: "POLICY_MISMATCH"},
		"another price, accepted plainly":       {change: dearer, plain: true, want: "POLICY_MISMATCH"},
		"another price, after the text to sign": {change: dearer, plain: true, signed: true, want: "POLICY_MISMATCH"},
		"another agent": {change: func(g *gatetest.Gate) {
			g.Write("uimgate.yaml", strings.Replace(g.Settings, "aea: {", "aea: {relay: {per_agent: 5/hour}, ", 1))
		}, want: "Invalid dialogue", moved: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gatetest.New(t, settings)
			a := agent(g, "delegate", 2)
			made := func(want int) {
				t.Helper()
				list, err := g.Store.Agreements(t.Context(), store.AgreementFilter{Service: "default", AgentID: pat.AgentID(a.Address()), Limit: 10})
				if err != nil || len(list) != want {
					t.Errorf("%d agreements, %v, want %d", len(list), err, want)
				}
			}
			turn, offer := a.Asks(t, gatetest.Ordering)
			if row.signed {
				a.Reply(t, turn, protocol.FIPAMessage{Performative: protocol.FIPAAccept})
				turn, _ = a.FIPA(t, protocol.FIPAMatchAcceptWInform)
			}
			row.change(g)
			g.Reload()
			if row.moved {
				a.Way = dialers["delegate"](t, addresses(g), a.Key)
			}
			answer := func(m protocol.FIPAMessage) {
				t.Helper()
				a.Reply(t, turn, m)
				turn = a.Next(t)
			}
			info := a.Info(offer)
			switch {
			case row.signed:
				answer(protocol.FIPAMessage{Performative: protocol.FIPAInform, Info: info})
			case row.plain:
				answer(protocol.FIPAMessage{Performative: protocol.FIPAAccept})
				if row.want == "" {
					answer(protocol.FIPAMessage{Performative: protocol.FIPAInform, Info: info})
				}
			default:
				answer(protocol.FIPAMessage{Performative: protocol.FIPAAcceptWInform, Info: info})
			}
			reply, _ := turn.Content.(protocol.FIPAMessage)
			if row.want == "" {
				made(1)
				answer(protocol.FIPAMessage{Performative: protocol.FIPAInform, Info: info})
				if again, _ := turn.Content.(protocol.FIPAMessage); reply.Info["pat"] == "" || again.Info["pat"] != "" {
					t.Errorf("%v, then %v", reply.Info, again.Info)
				}
				if text, _ := a.Refusal(t); !strings.HasPrefix(text, "AGREEMENT_REPLAYED") {
					t.Errorf("got %q, want a text that starts with %q", text, "AGREEMENT_REPLAYED")
				}
				made(1)
				return
			}
			if !row.moved { // the gateway ended the negotiation, and stated why
				turn = a.Next(t)
			}
			m, _ := turn.Content.(protocol.DefaultMessage)
			if !strings.HasPrefix(m.Text, row.want) || reply.Info["pat"] != "" || reply.Info["sign"] != "" {
				t.Errorf("got %+v, %+v", m, reply)
			}
			made(0)
			if _, offer := a.Asks(t, gatetest.Ordering); aeatest.TextOf(offer, "tx_nonce") == info["tx_nonce"] {
				t.Error("the same offer again")
			}
			a.Agrees(t, gatetest.Ordering)
			made(1)
		})
	}
}
