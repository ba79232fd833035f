package execute_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// approve approves an agent, as the operator does.
func (w *world) approve(a *gatetest.Agent) {
	w.Helper()
	w.Must(w.Store.SetAgent(w.Context(), pat.AgentChange{Service: "default", ID: a.ID, Status: pat.AgentActive, Approved: true}))
	w.Must(w.View.Refresh(w.Context()))
}

// orders returns how many paid calls of 0.25 EUR an agent can make until its credit is used up; at most 100.
func (w *world) orders(a *gatetest.Agent) (n int) {
	w.Helper()
	for ; n < 100; n++ {
		_, refused, _ := w.do(a, call{intent: buy, parameters: `{"product":"x"}`})
		if refused == nil {
			continue
		}
		if refused.Reason != reason.PolicyRequiresPayment && refused.Reason != reason.NewcomersExhausted {
			w.Fatalf("got %+v, want Reason %v or %v", refused, reason.PolicyRequiresPayment, reason.NewcomersExhausted)
		}
		break
	}
	return n
}

// If an unapproved agent uses up its credit, others still have credit. The credit of unapproved agents is renewed after a while.
func TestUnapprovedAgentDoesNotUseAllCredit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "billing: {credit: 5 EUR}\n", quickUpstream)
	known := w.fresh()
	w.approve(known)
	for i := range 10 {
		if n := w.orders(w.fresh()); n != 2 { // a tenth of the credit
			t.Fatalf("unapproved agent %d made %d paid calls; want 2", i, n)
		}
	}
	if n := w.orders(w.fresh()); n != 0 {
		t.Errorf("unapproved agents exceed their credit together, by %d calls, want 0", n)
	}
	if n := w.orders(known); n != 20 {
		t.Errorf("an approved agent made %d paid calls; want 20", n)
	}
	w.Later(12 * time.Hour)
	next := []int{w.orders(w.fresh()), w.orders(w.fresh()), w.orders(w.fresh()), w.orders(w.fresh()), w.orders(w.fresh()), w.orders(w.fresh())}
	if total := next[0] + next[1] + next[2] + next[3] + next[4] + next[5]; next[0] != 2 || total != 10 {
		t.Errorf("half a day later unapproved agents made %v paid calls; want 10 together", next)
	}
}

// A limit per agent is not enough, because new keys are free: all unapproved agents share a limit. It does not apply to approved agents, or
// to paid calls.
func TestUnapprovedAgentsShareACeiling(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "pat: {newcomers: 6/hour}\n", quickUpstream)
	known := w.fresh()
	w.approve(known)
	request := call{intent: item, parameters: `{"id":"x"}`}
	for range 6 {
		w.must(w.fresh(), request)
	}
	late := w.fresh()
	if _, refused, _ := w.do(late, request); refused == nil || refused.Reason != reason.ServiceCeiling || refused.RetryAfter <= 0 {
		t.Errorf("got %+v", refused)
	}
	for range 10 {
		w.must(known, request)
	}
	w.must(late, call{intent: buy, parameters: `{"product":"x"}`})
	w.must(late, call{intent: find, parameters: `{"q":"lamp"}`}) // the limit applies per intent
	for range 3 {
		w.must(w.fresh(), call{intent: shared}) // has a separate ceiling
	}
}

// An agent that pays in what it was asked for can call, although the common credit of unapproved agents is used up.
func TestPaymentReplacesTheCommonCredit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "billing: {credit: 0.50 EUR, newcomers: 0.50 EUR}\n", quickUpstream)
	request := call{intent: buy, parameters: `{"product":"x"}`}
	for range 2 {
		w.must(w.fresh(), request)
	}
	a := w.fresh()
	_, refused, _ := w.do(a, request)
	if refused == nil || refused.Reason != reason.NewcomersExhausted {
		t.Fatalf("got %+v, want Reason %v", refused, reason.NewcomersExhausted)
	}
	demand, _ := refused.Details["payment"].(map[string]any)
	asked, err := money.Parse(fmt.Sprint(demand["shortfall"], " ", demand["currency"]))
	w.Must(err)
	_, err = w.Store.TopUp(w.Context(), store.TopUp{Service: "default", AgentID: a.ID, Amount: asked})
	w.Must(err)
	w.must(a, request)
	if _, refused, _ = w.do(a, request); refused == nil || refused.Reason != reason.NewcomersExhausted {
		t.Errorf("after the payment was used: got %+v, want Reason %v", refused, reason.NewcomersExhausted)
	}
}
