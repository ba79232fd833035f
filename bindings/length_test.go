//go:build !soak

package bindings_test

// The limits of the AEA and MRP agents in the test of a limit through all doors. With the build tag soak they are as large as that
// of the uAgent.
const (
	limitOfMessages = 300
	limitAtRelay    = 100
)
