//go:build !soak

package bindings_test

// The limits of the agents in the test of a limit through all doors. With the build tag soak they are larger.
const (
	limitInEnvelopes = 200
	limitOfMessages  = 60
	limitAtRelay     = 60
)
