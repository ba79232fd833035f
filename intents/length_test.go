//go:build !soak

package intents_test

// How much the tests do. With the build tag soak it is more.
const (
	dearTexts = 2      // matched against a pattern that visits each byte a thousand times
	manyItems = 20_000 // of one array
)
