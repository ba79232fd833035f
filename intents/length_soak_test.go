//go:build soak

package intents_test

// How much the tests do.
const (
	dearTexts = 100     // matched against a pattern that visits each byte a thousand times: more than the budget of a call
	manyItems = 100_000 // of one array
)
