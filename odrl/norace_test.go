//go:build !race

package odrl

// Raced reports whether the race detector is enabled.
const Raced = false
