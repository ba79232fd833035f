package execute_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
)

// If many calls of an agent are invalid, the gateway refuses its further calls without reading them, until the agent slows down. Other
// agents are not affected, and invalid calls do not count toward the agent's limits.
func TestRepeatedInvalidCallsAreHeldBack(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	failing, other := w.fresh(), w.fresh()
	wrong := call{intent: find, parameters: `{"q":"x"}`}
	for n := range 60 {
		if _, refused, _ := w.do(failing, wrong); refused == nil || refused.Reason != reason.ParameterTooShort {
			t.Fatalf("invalid call %d: %v", n, refused)
		}
	}
	read := false
	_, refused, event := w.do(failing, call{read: func() (execute.Request, error) {
		read = true
		return execute.Request{}, nil
	}})
	if refused == nil || refused.Reason != reason.RateLimitExceeded || refused.RetryAfter != time.Second || read ||
		event.Shed != reason.ShedFailing {
		t.Fatalf("the call after 60 invalid ones: %v, Retry-After %v, read %v", refused, refused.RetryAfter, read)
	}
	if n := heldBack(w); n != 1 {
		t.Errorf("%v are counted, want 1", n)
	}
	w.must(other, call{intent: item, parameters: `{"id":"x"}`})
	w.Pass(time.Second)
	for range 3 { // valid calls do not count as invalid
		w.must(failing, call{intent: item, parameters: `{"id":"x"}`})
	}
	if n := w.counted(failing); n != 0 {
		t.Errorf("invalid calls used %d of five, want 0", n)
	}
	if _, refused, _ := w.do(failing, wrong); refused.Reason != reason.ParameterTooShort {
		t.Errorf("the next invalid call: %v, want Reason %v", refused, reason.ParameterTooShort)
	}
	if _, refused, _ := w.do(failing, wrong); refused.Reason != reason.RateLimitExceeded {
		t.Errorf("the invalid call after it: %v, want Reason %v", refused, reason.RateLimitExceeded)
	}
}

// A call is refused after it was read if enough other calls of the agent failed in the meantime.
func TestConcurrentInvalidCallsAreHeldBack(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	a := w.fresh()
	wrong := call{intent: find, parameters: `{"q":"x"}`}
	_, refused, _ := w.do(a, call{read: func() (execute.Request, error) {
		for range 60 {
			_, _, _ = w.do(a, wrong)
		}
		return execute.Request{IntentUID: find, Parameters: tree(w, wrong.parameters)}, nil
	}})
	if refused == nil || refused.Reason != reason.RateLimitExceeded {
		t.Errorf("got %v", refused)
	}
}

// heldBack returns the number of calls that the metrics count as held back.
func heldBack(w *world) (n float64) {
	w.Helper()
	families, err := w.Metrics.Registry().Gather()
	w.Must(err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "uimgate_shed_total" && m.GetLabel()[0].GetValue() == string(reason.ShedFailing) {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}
