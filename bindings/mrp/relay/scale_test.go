//go:build !soak

package relay_test

// How large the attacks are that take long: so that each run of the tests has them small.
const (
	inThread = 2_000 // messages
	atOnce   = 20    // WebSockets
)
