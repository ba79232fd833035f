package aea_test

import (
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// TestPlans checks that a negotiation that tries to choose a plan is refused, so that no agent agrees to the terms without a plan while it
// expects those of a plan. An intent that only a plan permits is not offered, and the reason names the plan.
func TestPlans(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	s.Write("policy.json", strings.Replace(gatetest.PolicyFile, `order:v1", "action": "execute", `, `order:v1", "action": "execute",
		"constraint": [{"leftOperand": "plan", "operator": "eq", "rightOperand": "pro"}], `, 1))
	s.Reload()
	a := s.agent(identity.Fetchai)
	plan := func(m map[string]string) map[string]string { m["plan"] = "pro"; return m }
	queries := func(expr ...search.Expr) protocol.FIPAMessage {
		return protocol.FIPAMessage{Performative: protocol.FIPACFP, Query: search.Query{Constraints: expr}}
	}
	equals := func(name, text string) search.Expr {
		return search.Constraint{Attribute: name, Test: search.Relation{Value: search.Text(text)}}
	}
	refused := func(name string, by protocol.Performative, why string) {
		t.Helper()
		a.FIPA(t, by)
		if _, uim := a.Refusal(t); refusal(uim) != why || !strings.Contains(uim, `"plans":["pro"]`) {
			t.Errorf("%s: %s, want %s", name, uim, why)
		}
	}
	a.Start(t, &protocol.FIPA, queries(equals("intent_uid", gatetest.Ordering)))
	refused("an intent of a plan", protocol.FIPADecline, "PLAN_REQUIRED")
	a.Start(t, &protocol.FIPA, queries(equals("intent_uid", gatetest.Searching), equals("plan", "pro")))
	refused("a query with a plan", protocol.FIPADecline, "UNKNOWN_PLAN")

	turn, _ := a.Asks(t, gatetest.Searching)
	a.Reply(t, turn, protocol.FIPAMessage{
		Performative: protocol.FIPAPropose, Proposal: search.Describe("uim_offer", search.KeyValue{Key: "plan", Value: search.Text("pro")}),
	})
	refused("a counter-offer with a plan", protocol.FIPADecline, "UNKNOWN_PLAN")

	turn, offer := a.Asks(t, gatetest.Searching)
	a.Reply(t, turn, says(protocol.FIPAAcceptWInform, plan(a.Info(offer))))
	refused("an acceptance with a plan", protocol.FIPADecline, "UNKNOWN_PLAN")

	turn, offer = a.Asks(t, gatetest.Searching)
	a.Reply(t, turn, says(protocol.FIPAAccept, nil))
	turn, _ = a.FIPA(t, protocol.FIPAMatchAcceptWInform)
	a.Reply(t, turn, says(protocol.FIPAInform, plan(a.Info(offer))))
	refused("a signature with a plan", protocol.FIPAEnd, "UNKNOWN_PLAN")

	list, err := s.Store.Agreements(t.Context(), store.AgreementFilter{Service: "default", AgentID: pat.AgentID(a.Address()), Limit: 10})
	if err != nil || len(list) != 0 {
		t.Errorf("%d agreements, %v; want 0", len(list), err)
	}
	if token := a.Agrees(t, gatetest.Searching); !strings.Contains(a.Calls(t, searchCall(token)), `{"ok":true}`) {
		t.Error("an agreement without a plan permits no call")
	}
}
