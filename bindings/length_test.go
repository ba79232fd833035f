//go:build !soak

package bindings_test

// The limits of the agents of AEA and of MRP in the test of a limit through all doors. With the build tag soak they are as large as that
// of the agent of uAgents.
const (
	limitOfMessages = 300
	limitAtRelay    = 100
)
