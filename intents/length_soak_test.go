//go:build soak

package intents

// How much the tests do.
const (
	RandomSchemas = 20_000  // compared with the library
	DearTexts     = 100     // matched against a pattern that visits each byte a thousand times: more than the budget of a call
	ManyItems     = 100_000 // of one array
)
