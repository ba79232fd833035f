//go:build soak

package relay_test

// See scale_test.go.
const (
	inThread = 100_000
	atOnce   = 100
)
