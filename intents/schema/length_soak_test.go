//go:build soak

package schema

// randomSchemas are compared with the library.
const randomSchemas = 20_000
