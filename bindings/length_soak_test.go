//go:build soak

package bindings_test

// The limits of the AEA and MRP agents in the test of a limit through all doors.
const (
	limitOfMessages = 1_000
	limitAtRelay    = 1_000
)
