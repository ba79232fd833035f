//go:build soak

package directory_test

// registrations is the number of agents that register in the test of the bound of 8192.
const registrations = 100_000
