package admin_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// Only one operation at a time compiles and evaluates policies for operators.
func TestPoliciesAreComparedInTurn(t *testing.T) {
	g := gatetest.New(t, "")
	g.Agreed("agent-1")
	var holds atomic.Bool
	entered, leave := make(chan struct{}), make(chan struct{})
	operator := admin.New(admin.Config{
		Directory: g.Directory, Store: g.Store, Keys: g.Keys, View: g.View, Log: g.Log, Index: g.Index, AuditPath: g.AuditPath(),
		Now: func() time.Time { // Impact reads the clock in its turn
			if holds.Swap(false) {
				close(entered)
				<-leave
			}
			return g.Now()
		},
	})
	holds.Store(true)
	first := make(chan error, 1)
	go func() {
		_, err := admin.Call(t.Context(), operator, operation.Impact, policies.ImpactRequest{Policy: gatetest.PolicyFile})
		first <- err
	}()
	select {
	case <-entered:
	case err := <-first:
		t.Fatalf("Impact ended before it read the clock: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel() // no caller waits
	decide := policies.DecideRequest{AgentID: "agent-1", Intent: gatetest.Searching}
	_, decided := operator.Policies.Decide(gone, decide)
	_, compared := admin.Call(gone, operator, operation.Impact, policies.ImpactRequest{Policy: gatetest.PolicyFile})
	for name, err := range map[string]error{"Decide": decided, "Impact": compared} {
		f, ok := errors.AsType[*reason.Refusal](err)
		if !ok || f.Reason != reason.TooManyConnections || f.Status() != http.StatusTooManyRequests {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(leave)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if d, err := operator.Policies.Decide(t.Context(), decide); err != nil || d.Decision != "permit" {
		t.Errorf("got %+v, %v", d, err)
	}
	if _, err := admin.Call(t.Context(), operator, operation.Impact, policies.ImpactRequest{Policy: gatetest.PolicyFile}); err != nil {
		t.Error(err)
	}
}
