package aea_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

var frugalID = wire.PublicID{Author: "shop", Name: "frugal", Version: "1.0.0"}

// A frugal skill states its budget, and proposes transactions. update receives the changes that the test has it propose.
type frugal struct {
	runtime.Skill
	*runtime.Runtime
	state   chan runtime.Message         // messages of state_update
	answers chan protocol.SigningMessage // messages of signing
}

var (
	frugalMade = make(chan *frugal, 1)
	frugalSpec = protocol.StateUpdate.Specs[0]
)

func init() { //nolint:gochecknoinits // as a program of an operator does
	aea.RegisterSkill("frugal", func(r *runtime.Runtime) (runtime.Skill, error) {
		f := &frugal{Runtime: r, state: make(chan runtime.Message, 8), answers: make(chan protocol.SigningMessage, 8)}
		f.Skill = runtime.Skill{ID: frugalID, Handlers: []runtime.Handler{
			{Protocol: &protocol.StateUpdate, Handle: func(_ context.Context, m runtime.Message) error { f.state <- m; return nil }},
			{Protocol: &protocol.Signing, Handle: func(_ context.Context, m runtime.Message) error {
				c, _ := m.Content.(protocol.SigningMessage)
				f.answers <- c
				return nil
			}},
		}}
		frugalMade <- f
		return f.Skill, nil
	})
}

// initialize proposes a budget.
func (f *frugal) initialize(t *testing.T, m protocol.StateUpdateMessage) {
	t.Helper()
	m.Performative = protocol.StateUpdateInitialize
	if _, err := f.Start(frugalID, frugalSpec, runtime.DecisionMakerID.String(), m); err != nil {
		t.Fatal(err)
	}
}

// spends proposes transactions at once, and returns the number of those that were signed.
func (f *frugal) spends(t *testing.T, intents ...string) (signed int) {
	t.Helper()
	for i, text := range intents {
		text = strings.Replace(text, "lamp", fmt.Sprint("lamp", i), 1)
		c := protocol.SigningMessage{Performative: protocol.SigningSignTransaction, Payload: []byte(text)}
		if _, err := f.Start(frugalID, protocol.Signing.Specs[0], runtime.DecisionMakerID.String(), c); err != nil {
			t.Fatal(err)
		}
	}
	for range intents {
		if m := <-f.answers; m.Performative == protocol.SigningSignedTransaction {
			signed++
		}
	}
	return signed
}

// TestBudgetsOfSkills has a skill state what it owns and prefers. The decision maker of the gateway refuses transactions that exceed the
// budget, even if several are proposed at once, and transactions that the skill values less than their price. It also refuses changes that
// do not fit the state. Failed calls do not count. The state of the skill ends with the skill.
func TestBudgetsOfSkills(t *testing.T) {
	t.Parallel()
	with := strings.Replace(settings, "aea: {", "aea: {skills: {own: [frugal]}, ", 1)
	g := gatetest.New(t, "billing: {credit: 100 EUR}\n"+with)
	f := <-frugalMade
	var calls atomic.Int64
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		fmt.Fprint(w, `{"ok":true}`)
	}
	budget := func() runtime.Budget {
		t.Helper()
		state, _ := f.Resources().State(runtime.DecisionMakerID)
		s, _ := state.(runtime.DecisionStatus)
		return s.Budgets[frugalID.String()]
	}
	search := strings.NewReplacer(gatetest.Ordering, gatetest.Searching, "product", "query").Replace(orderOf("lamp"))
	order := orderOf("lamp")
	if n := f.spends(t, order); n != 1 { // without a state, the credit of the agent decides
		t.Errorf("%d transactions signed before there is a budget, want 1", n)
	}
	f.initialize(t, protocol.StateUpdateMessage{
		Amounts: map[string]int64{"EUR": 60}, Quantities: map[string]int64{gatetest.Ordering: 0},
		Exchange: map[string]float64{"EUR": 1}, Utility: map[string]float64{gatetest.Ordering: 1e6},
	})
	turn := <-f.state
	if n := f.spends(t, order, order, order); n != 2 { // 0.60 EUR hold two of 0.25 EUR
		t.Errorf("%d of 3 transactions at once signed, want 2", n)
	}
	if b := budget(); b.Left["EUR"] != "0.10" && b.Left["EUR"] != "0.1" || b.Quantities[gatetest.Ordering] != 2 {
		t.Errorf("got %+v, want 0.1 EUR and 2 orders", b)
	}
	if n := f.spends(t, search); n != 0 {
		t.Error("signed a call of an intent that the state does not name")
	}
	change := func(amount int64, want protocol.Performative) {
		t.Helper()
		g.Must(turn.Reply(protocol.StateUpdateMessage{Performative: protocol.StateUpdateApply, Amounts: map[string]int64{"EUR": amount}}))
		turn = <-f.state
		if c, _ := turn.Content.(protocol.StateUpdateMessage); c.Performative != want {
			t.Errorf("a change by %d: got %s, want %s", amount, c.Performative, want)
		}
	}
	change(15, protocol.StateUpdateApply)
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	if n := f.spends(t, order); n != 0 {
		t.Error("signed a call that failed")
	}
	if b := budget(); b.Left["EUR"] != "0.25" {
		t.Errorf("got %+v after a call that failed, want 0.25 EUR", b)
	}
	change(-26, protocol.StateUpdateEnd) // the budget would be negative
	f.initialize(t, protocol.StateUpdateMessage{Amounts: map[string]int64{"EUR": 1000}})
	if n := f.spends(t, search); n != 0 || budget().Left["EUR"] != "0.25" {
		t.Errorf("a skill initialized its state twice: %+v", budget())
	}

	// An agent cannot propose a state.
	a := agent(g, "delegate", 2)
	a.Start(t, &protocol.StateUpdate, protocol.StateUpdateMessage{Performative: protocol.StateUpdateInitialize})
	if m, _ := a.Next(t).Content.(protocol.DefaultMessage); m.Code != protocol.CodeInvalidMessage {
		t.Errorf("got %+v, want the code %d", m, protocol.CodeInvalidMessage)
	}

	g.Write("uimgate.yaml", strings.Replace(g.Settings, "own: [frugal]", "own: []", 1))
	g.Reload()
	g.Write("uimgate.yaml", g.Settings)
	g.Reload()
	f = <-frugalMade
	if b := budget(); b.Left != nil {
		t.Errorf("got %+v after the skill was removed and added, want no budget", b)
	}
	f.initialize(t, protocol.StateUpdateMessage{
		Amounts: map[string]int64{"EUR": 1000}, Quantities: map[string]int64{gatetest.Ordering: 0, gatetest.Searching: 0},
		Exchange: map[string]float64{"EUR": 1}, Utility: map[string]float64{gatetest.Ordering: 1, gatetest.Searching: 1},
	})
	<-f.state
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ok":true}`) }
	if n := f.spends(t, order); n != 0 {
		t.Error("signed a call that the skill values less than its price")
	}
	if n := f.spends(t, search); n != 1 {
		t.Error("did not sign a free call")
	}
	if calls.Load() != 3 {
		t.Errorf("%d charged calls reached the service, want 3", calls.Load())
	}
	kinds := map[string]int{}
	for _, line := range signings(g) {
		kinds[line.Signing.Kind+" "+line.Decision]++
	}
	if kinds["state_update sign"] != 3 || kinds["state_update sign_refused"] != 2 {
		t.Errorf("got %v, want 3 accepted and 2 refused changes of the state in the audit stream", kinds)
	}
}
