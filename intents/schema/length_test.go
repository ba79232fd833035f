//go:build !soak

package schema

// randomSchemas are compared with the library. With the build tag soak there are more.
const randomSchemas = 400
