package trace_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/trace"
)

const (
	traceID  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parentID = "00f067aa0ba902b7"
	sent     = "00-" + traceID + "-" + parentID + "-01"
)

func TestContinueAddsASpanToTheTrace(t *testing.T) {
	s := trace.Continue(sent)
	if s.TraceID() != traceID || s.ParentID() != parentID || s.ID() == parentID || len(s.ID()) != 16 || !s.Sampled() {
		t.Errorf("got %+v", s)
	}
	if want := "00-" + traceID + "-" + s.ID() + "-01"; s.Traceparent() != want {
		t.Errorf("got %s, want %s", s.Traceparent(), want)
	}
	child := s.Child()
	if child.TraceID() != traceID || child.ParentID() != s.ID() || child.ID() == s.ID() || !child.Sampled() {
		t.Errorf("child of %+v: %+v", s, child)
	}
}

func TestContinueStartsATraceForAnInvalidTraceparent(t *testing.T) {
	for _, sent := range []string{
		"", "00", strings.ToUpper(sent), "01" + sent[2:], sent + "-x", sent[:54], " " + sent, strings.Replace(sent, "-01", "-0g", 1),
		"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", "00-" + traceID + "-" + strings.Repeat("0", 16) + "-01",
		strings.Replace(sent, "-00f", "_00f", 1), strings.Replace(sent, "4bf9", "4b-9", 1),
	} {
		s := trace.Continue(sent)
		if len(s.TraceID()) != 32 || s.TraceID() == traceID || s.ParentID() != "" || s.Sampled() {
			t.Errorf("%q: got %+v, want the root of a new trace, not sampled", sent, s)
		}
		if again := trace.Continue(s.Traceparent()); again.TraceID() != s.TraceID() || again.ParentID() != s.ID() {
			t.Errorf("%q: %s is not a traceparent", sent, s.Traceparent())
		}
	}
}

func TestSample(t *testing.T) {
	s := trace.Continue(sent)
	for _, sampled := range []bool{true, false, true} {
		changed := s.Sample(sampled)
		if changed.Sampled() != sampled || changed.ID() != s.ID() || changed.TraceID() != traceID || changed.ParentID() != parentID {
			t.Errorf("Sample(%v) of %+v: %+v", sampled, s, changed)
		}
		s = changed
	}
}

func TestBetween(t *testing.T) {
	above := trace.Continue(sent)
	middle := above.Child()
	below := middle.Child()
	if got := trace.Between(above, below); got != middle {
		t.Errorf("got %+v, want %+v", got, middle)
	}
}

func TestTheZeroSpanHasNothing(t *testing.T) {
	var s trace.Span
	if s.Traceparent() != "" || s.TraceID() != "" || s.ID() != "" || s.ParentID() != "" || s.Sampled() ||
		s.Child() != s || s.Sample(true) != s || trace.Between(s, s) != s {
		t.Errorf("got %+v", s)
	}
}
