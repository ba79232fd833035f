package daemon_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A signature over an earlier policy is distinguished from an invalid one, even by a process that never offered that policy.
func TestEarlierPoliciesRecognisedAfterARestart(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1")
	old := hex.EncodeToString(ed25519.Sign(a.key, []byte(testPolicy)))
	current := testPolicy
	for n := range 3 {
		current = strings.Replace(testPolicy, `"rightOperand": 1000`, fmt.Sprintf(`"rightOperand": %d`, 500+n), 1)
		g.stop()
		g = startGate(t, setup{dir: g.dir, policy: current})
		a.g = g
		got := a.issueWith(old)
		if got.status != http.StatusForbidden || got.reason(t) != "POLICY_MISMATCH" ||
			!strings.Contains(string(got.body), policyDigest(t, []byte(testPolicy))) ||
			!strings.Contains(string(got.body), policyDigest(t, []byte(current))) {
			t.Errorf("restart %d: %d %s", n, got.status, got.body)
		}
	}
	if got := a.issueWith(hex.EncodeToString(ed25519.Sign(a.key, []byte(current)))); got.status != http.StatusOK {
		t.Errorf("the current policy: %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	if got := a.issueWith(hex.EncodeToString(ed25519.Sign(a.key, []byte(`{}`)))); got.reason(t) != "BAD_SIGNATURE" {
		t.Errorf("another document: %d %s", got.status, got.body)
	}
	// Once it is offered again, the first policy is not an earlier one.
	g.stop()
	a.g = startGate(t, setup{dir: g.dir})
	if got := a.issueWith(old); got.status != http.StatusOK {
		t.Errorf("offered again: %d %s; want %v", got.status, got.body, http.StatusOK)
	}
}
