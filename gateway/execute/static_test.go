package execute_test

import (
	"testing"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// An attacker who replays a static agreement gets a separate principal, so its calls do not affect the agent.
func TestReplayedStaticAgreementDoesNotAffectAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "pat: {suspend_after: 2}\n", quickUpstream)
	w.answers(200, "application/json", `{"items":[]}`)
	a := w.fresh()
	replayed := *a
	replayed.Token = w.staticToken(a)
	first := call{intent: find, parameters: `{"q":"lamp"}`, key: "the-key-of-one"}
	if _, r, _ := w.do(&replayed, first); r != nil {
		t.Fatalf("got %v, want nil", r)
	}
	other := first
	other.parameters = `{"q":"desk"}`
	if _, r, _ := w.do(a, other); r != nil {
		t.Errorf("the idempotency key is not free for the agent: %v", r)
	}
	for range 6 {
		_, _, _ = w.do(&replayed, call{intent: find, parameters: `{"q":"lamp"}`})
	}
	if _, r, _ := w.do(&replayed, call{intent: find, parameters: `{"q":"lamp"}`}); r == nil || r.Reason != reason.AgentBlocked {
		t.Errorf("the static principal is not blocked: %v", r)
	}
	if _, r, _ := w.do(a, call{intent: find, parameters: `{"q":"lamp"}`}); r != nil {
		t.Errorf("the agent is blocked too: %v", r)
	}
	// Blocking the agent blocks both principals.
	w.Must(w.service().Issuance.Revoke(w.Context(), pat.Revocation{Kind: pat.RevokedAgent, Subject: string(a.ID), Reason: "test"}))
	if _, r, _ := w.do(a, call{intent: find, parameters: `{"q":"lamp"}`}); r == nil || r.Reason != reason.AgentBlocked {
		t.Errorf("the agent is not blocked: %v", r)
	}
}
