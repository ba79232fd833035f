//go:build !soak

package relay_test

// The sizes of slow attacks, which are small in ordinary test runs.
const (
	inThread = 2_000 // messages
	atOnce   = 20    // WebSockets
)
