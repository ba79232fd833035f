package execute_test

import (
	"testing"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// Whoever saw an agent's signature over the policy sends it again: the calls it then makes are not the agent's.
func TestReplayedStaticAgreementDoesNotAffectAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "pat: {suspend_after: 2}\n", quickUpstream)
	w.answers(200, "application/json", `{"items":[]}`)
	a := w.fresh()
	replayed := *a
	replayed.Token = w.staticToken(a)
	first := call{intent: find, parameters: `{"q":"lamp"}`, key: "the-key-of-one"}
	if _, r, _ := w.do(&replayed, first); r != nil {
		t.Fatal(r)
	}
	other := first
	other.parameters = `{"q":"desk"}`
	if _, r, _ := w.do(a, other); r != nil {
		t.Errorf("the agent's idempotency key was taken: %v", r)
	}
	for range 6 {
		_, _, _ = w.do(&replayed, call{intent: find, parameters: `{"q":"lamp"}`})
	}
	if _, r, _ := w.do(&replayed, call{intent: find, parameters: `{"q":"lamp"}`}); r == nil || r.Reason != reason.AgentBlocked {
		t.Errorf("the static principal goes on: %v", r)
	}
	if _, r, _ := w.do(a, call{intent: find, parameters: `{"q":"lamp"}`}); r != nil {
		t.Errorf("the agent was blocked with it: %v", r)
	}
	// Blocking the agent ends both.
	w.Must(w.service().Issuance.Revoke(w.Context(), pat.Revocation{Kind: pat.RevokedAgent, Subject: string(a.ID), Reason: "test"}))
	if _, r, _ := w.do(a, call{intent: find, parameters: `{"q":"lamp"}`}); r == nil || r.Reason != reason.AgentBlocked {
		t.Errorf("the agent goes on: %v", r)
	}
}
