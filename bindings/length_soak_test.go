//go:build soak

package bindings_test

// limitOfMessages is the limit of the agent of AEA in the test of a limit through all doors.
const limitOfMessages = 1_000
