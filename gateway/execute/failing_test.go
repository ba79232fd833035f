package execute_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
)

// An agent whose calls keep being refused for what is in them is held back, by itself, unread, and for as long as it goes on;
// what was refused has used up none of its limits.
func TestRepeatedInvalidCallsAreHeldBack(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	failing, other := w.fresh(), w.fresh()
	wrong := call{intent: find, parameters: `{"q":"x"}`}
	for n := range 60 {
		if _, refused, _ := w.do(failing, wrong); refused == nil || refused.Reason != reason.ParameterTooShort {
			t.Fatalf("wrong call %d: %v", n, refused)
		}
	}
	read := false
	_, refused, event := w.do(failing, call{read: func() (execute.Request, error) {
		read = true
		return execute.Request{}, nil
	}})
	if refused == nil || refused.Reason != reason.RateLimitExceeded || refused.RetryAfter != time.Second || read ||
		event.Shed != reason.ShedFailing {
		t.Fatalf("the call after 60 wrong ones: %v, Retry-After %v, read %v", refused, refused.RetryAfter, read)
	}
	if n := heldBack(w); n != 1 {
		t.Errorf("%v are counted, want 1", n)
	}
	w.must(other, call{intent: item, parameters: `{"id":"x"}`})
	w.Pass(time.Second)
	for range 3 { // what is right takes nothing
		w.must(failing, call{intent: item, parameters: `{"id":"x"}`})
	}
	if n := w.counted(failing); n != 0 {
		t.Errorf("wrong calls took %d of five", n)
	}
	if _, refused, _ := w.do(failing, wrong); refused.Reason != reason.ParameterTooShort {
		t.Errorf("one more wrong call: %v", refused)
	}
	if _, refused, _ := w.do(failing, wrong); refused.Reason != reason.RateLimitExceeded {
		t.Errorf("and another: %v", refused)
	}
}

// A call that was let in to be read is held back before it is checked, once enough others were refused meanwhile.
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
		t.Errorf("%v", refused)
	}
}

// heldBack is how many calls the metrics count as held back.
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
