package odrl_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain spends memory instead of time: most of what these tests cost is making policies and throwing them away.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}
