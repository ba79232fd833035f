package policies_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// Only one operation at a time compiles and evaluates policies for operators.
func TestPoliciesAreComparedInTurn(t *testing.T) {
	g := gatetest.New(t, "")
	g.Agreed("agent-1")
	operator := admin.New(admin.Config{
		Directory: g.Directory, Store: g.Store, Keys: g.Keys, View: g.View, Log: g.Log, Now: g.Now, Index: g.Index, AuditPath: g.AuditPath(),
	})
	release, err := operator.Policies.Compare(t.Context())
	g.Must(err)
	gone, cancel := context.WithCancel(t.Context())
	cancel() // no caller waits
	decide := policies.DecideRequest{AgentID: "agent-1", Intent: gatetest.Searching}
	_, decided := operator.Policies.Decide(gone, decide)
	_, compared := operator.Policies.Impact(gone, policies.ImpactRequest{Policy: gatetest.PolicyFile})
	for name, err := range map[string]error{"Decide": decided, "Impact": compared} {
		f, ok := errors.AsType[*reason.Refusal](err)
		if !ok || f.Reason != reason.TooManyConnections || f.Status() != http.StatusTooManyRequests {
			t.Errorf("%s: %v", name, err)
		}
	}
	release()
	if d, err := operator.Policies.Decide(t.Context(), decide); err != nil || d.Decision != "permit" {
		t.Errorf("got %+v, %v", d, err)
	}
	if _, err := operator.Policies.Impact(t.Context(), policies.ImpactRequest{Policy: gatetest.PolicyFile}); err != nil {
		t.Error(err)
	}
}
