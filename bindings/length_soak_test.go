//go:build soak

package bindings_test

// The limits of the agents in the test of a limit through all doors.
const (
	limitInEnvelopes = 1_000
	limitOfMessages  = 1_000
	limitAtRelay     = 1_000
)
