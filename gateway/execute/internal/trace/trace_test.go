package trace_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute/internal/trace"
)

const (
	ids    = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent = "00-" + ids + "-00f067aa0ba902b7-01"
)

func TestATraceGoesOnUnderASpanOfOurOwn(t *testing.T) {
	got := trace.Continue(parent)
	if !got.Valid() || !strings.HasPrefix(string(got), "00-"+ids+"-") || !strings.HasSuffix(string(got), "-01") || string(got) == parent {
		t.Errorf("got %s, want another span in the trace of %s", got, parent)
	}
}

func TestWhatIsNoTraceparentStartsATrace(t *testing.T) {
	for _, sent := range []string{
		"", "00", strings.ToUpper(parent), "01" + parent[2:], parent + "-x", parent[:54], " " + parent, strings.Replace(parent, "-01", "-0g", 1),
		"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", "00-" + ids + "-" + strings.Repeat("0", 16) + "-01",
		strings.Replace(parent, "-00f", "_00f", 1), strings.Replace(parent, "4bf9", "4b-9", 1),
	} {
		got := trace.Continue(sent)
		if !got.Valid() || strings.Contains(string(got), ids) || !strings.HasSuffix(string(got), "-00") {
			t.Errorf("%q: got %s, want a trace of its own, not sampled", sent, got)
		}
	}
}

func TestValid(t *testing.T) {
	for p, want := range map[trace.Parent]bool{
		parent: true, "": false, "00-zz": false,
		trace.Parent(strings.Replace(parent, "a", "A", 1)): false,
	} {
		if got := p.Valid(); got != want {
			t.Errorf("%q: got %v, want %v", p, got, want)
		}
	}
}
