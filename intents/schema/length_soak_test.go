//go:build soak

package schema

// randomSchemas is the number of schemas that are compared with the library.
const randomSchemas = 20_000
