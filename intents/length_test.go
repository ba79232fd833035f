//go:build !soak

package intents_test

// These constants set how many tests run. The soak build tag raises them.
const (
	dearTexts = 2      // matched against a pattern that visits each byte a thousand times
	manyItems = 20_000 // elements of one array
)
