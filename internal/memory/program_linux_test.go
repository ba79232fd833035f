package memory_test

import (
	"testing"

	"github.com/uimgate/uimgate/internal/memory"
)

// What is used comes back, and only that.
func TestTheProgramGoesOnAfterItWasUnmapped(t *testing.T) {
	first, err := memory.UnmapProgram()
	if err != nil || first <= 0 {
		t.Fatalf("%d bytes, %v, want some", first, err)
	}
	for range 3 {
		again, err := memory.UnmapProgram()
		if err != nil || again <= 0 || again > first {
			t.Errorf("%d bytes, %v, want what was used since, at most %d", again, err, first)
		}
	}
}
