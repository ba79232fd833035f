package admin_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// Only one operation at a time compiles and evaluates policies for operators.
func TestPoliciesAreComparedInTurn(t *testing.T) {
	g := newAdminGate(t, "")
	g.Agreed("agent-1")
	g.settings.AuditPath = g.AuditPath()
	g.operator = admin.New(g.settings)
	release, err := g.operator.Compare(t.Context())
	g.Must(err)
	gone, cancel := context.WithCancel(t.Context())
	cancel() // nobody waits
	decide := admin.DecideRequest{AgentID: "agent-1", Intent: gatetest.Searching}
	_, decided := g.operator.Decide(gone, decide)
	_, compared := g.operator.Impact(gone, admin.ImpactRequest{Policy: gatetest.PolicyFile})
	for name, err := range map[string]error{"Decide": decided, "Impact": compared} {
		f, ok := errors.AsType[*reason.Refusal](err)
		if !ok || f.Reason != reason.TooManyConnections || f.Status() != http.StatusTooManyRequests {
			t.Errorf("%s: %v", name, err)
		}
	}
	release()
	if d, err := g.operator.Decide(t.Context(), decide); err != nil || d.Decision != "permit" {
		t.Errorf("got %+v, %v", d, err)
	}
	if _, err := g.operator.Impact(t.Context(), admin.ImpactRequest{Policy: gatetest.PolicyFile}); err != nil {
		t.Error(err)
	}
}

func TestTextOfQueriesIsUTF8(t *testing.T) {
	g := newAdminGate(t, "")
	for _, path := range []string{"/agents?search=%ff", "/agents?search=%00", "/agents?search=a%0Ab"} {
		if got := g.do("GET", path, nil); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	if got := g.do("GET", "/agents/a%ff", nil); got.Status != http.StatusNotFound {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
}
