//go:build !soak

package schema

// randomSchemas is the number of schemas that are compared with the library. With the build tag soak there are more.
const randomSchemas = 400
