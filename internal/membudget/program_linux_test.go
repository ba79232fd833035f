package membudget_test

import (
	"testing"

	"github.com/uimgate/uimgate/internal/membudget"
)

// The system loads only the pages that are used again.
func TestProgramRunsAfterGiveBack(t *testing.T) {
	first, err := membudget.UnmapProgram()
	if err != nil || first <= 0 {
		t.Fatalf("%d bytes, %v, want some", first, err)
	}
	for range 3 {
		again, err := membudget.UnmapProgram()
		if err != nil || again <= 0 || again > first {
			t.Errorf("%d bytes, %v, want only the pages used since, at most %d", again, err, first)
		}
	}
}
