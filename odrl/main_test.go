package odrl_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain spends memory instead of time, more of it than make test has all packages do: most of what these tests cost is making
// policies and throwing them away.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
