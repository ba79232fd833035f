//go:build !soak

package directory_test

// registrations is the number of agents that register in the test of the bound of 8192. With the build tag soak there are more.
const registrations = 12_000
