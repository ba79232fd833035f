//go:build !soak

package bindings_test

// limitOfMessages is the limit of the agent of AEA in the test of a limit through all doors. With the build tag soak it is as large as
// that of the agent of uAgents.
const limitOfMessages = 300
