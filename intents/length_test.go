//go:build !soak

package intents_test

// The amount of tests. With the build tag soak there are more.
const (
	dearTexts = 2      // matched against a pattern that visits each byte a thousand times
	manyItems = 20_000 // elements of one array
)
