package gateway_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
)

func TestAPanicOnTheWayIsARefusal(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.agreed("agent-1")
	var seen *execute.Event
	_, err := g.executor.Execute(t.Context(), execute.Call{
		Service: g.directory.Current().Service("default"), Token: a.token, Observe: func(e *execute.Event) { seen = e },
		Read: func() (execute.Request, error) { panic("canary-parameter") },
	})
	var f *reason.Refusal
	if !errors.As(err, &f) || f.Reason != "INTERNAL" || f.Status() != http.StatusInternalServerError || f.Details["outcome"] == nil {
		t.Fatalf("%+v", err)
	}
	if seen == nil || seen.Decision != "deny" || seen.Reason != "INTERNAL" {
		t.Errorf("%+v", seen)
	}
	if cause := errors.Unwrap(f).Error(); strings.Contains(cause, "canary") || !strings.Contains(cause, "execute_test.go") {
		t.Errorf("the cause is to name the place and not the value: %s", cause)
	}
}

func TestWhatTheGatewayRefusesByItselfWasNotSent(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.agreed("agent-1")
	g.pass(time.Minute) // what was revoked is not known as of now, but can be asked
	if got := g.execute(a, ordering); got.status != http.StatusOK {
		t.Errorf("a view that can be brought up to date: %d %s", got.status, got.body)
	}
	g.pass(time.Minute)
	g.must(g.store.Close()) // now it cannot
	got := g.execute(a, ordering)
	if got.status != http.StatusServiceUnavailable || !strings.Contains(string(got.body), `"outcome":"not_sent"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}
