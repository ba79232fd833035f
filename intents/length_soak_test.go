//go:build soak

package intents_test

// These constants set how many tests run.
const (
	dearTexts = 100     // matched against a pattern that visits each byte a thousand times, which exceeds the budget of a call
	manyItems = 100_000 // elements of one array
)
