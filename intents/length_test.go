//go:build !soak

package intents

// How much the tests do. With the build tag soak it is more.
const (
	RandomSchemas = 400    // compared with the library
	DearTexts     = 2      // matched against a pattern that visits each byte a thousand times
	ManyItems     = 20_000 // of one array
)
