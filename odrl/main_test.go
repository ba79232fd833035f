package odrl_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain sets the GOGC of make test for all other runs, because these tests spend most of their time on allocating policies.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
