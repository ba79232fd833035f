package execute_test

import "testing"

// A PAT without a proof permits no charges, unless the operator makes proofs optional.
func TestProofPermitsMoreThanPAT(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", quickUpstream)
	for _, tt := range []struct {
		name, intent, parameters string
		proved                   bool
		owed                     string
	}{
		{"charged with a proof", either, `{"paid":"yes"}`, true, "0.00 held, 0.25 captured"},
		{"charged without one, where it is optional", buy, `{"product":"x"}`, false, "0.00 held, 0.25 captured"},
		{"free though it could be charged", either, `{"paid":"yes","purpose":"research"}`, false, ""},
		{"free, where each call has to be proved", proved, `{}`, true, ""},
	} {
		a := w.fresh()
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := call{intent: tt.intent, parameters: tt.parameters}
			if tt.proved {
				c.proof = w.proof(a, tt.intent, tt.parameters)
			}
			w.must(a, c)
			if got := w.owed(a); got != tt.owed {
				t.Errorf("owed %q, want %q", got, tt.owed)
			}
		})
	}
}
