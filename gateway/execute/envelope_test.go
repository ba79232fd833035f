package execute_test

import (
	"testing"

	"github.com/uimgate/uimgate/internal/reason"
)

// An agent with an envelope agreement calls like an agent with a fresh agreement. A JWS is not a proof of its key.
func TestCallsUnderAnEnvelope(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", quickUpstream)
	a := w.AgreedInEnvelope("alice recovery password")
	w.must(a, call{intent: find, parameters: `{"q":"lamp"}`})
	w.must(a, call{intent: careful})
	w.must(a, call{intent: buy, parameters: `{"product":"x"}`})
	if got := w.owed(a); got != "0.00 held, 0.25 captured" {
		t.Errorf("owed %q, want %q", got, "0.00 held, 0.25 captured")
	}
	for name, tt := range map[string]struct {
		proof string
		want  reason.Reason
	}{
		"without proof":        {"", reason.PolicyRequiresVerification},
		"proof by another key": {w.proof(a, proved, `{}`), reason.BadSignature},
	} {
		if _, refused, _ := w.do(a, call{intent: proved, proof: tt.proof}); refused == nil || refused.Reason != tt.want {
			t.Errorf("%s: %v; want %s", name, refused, tt.want)
		}
	}
}
