//go:build !race

package odrl

// Raced: the race detector is on.
const Raced = false
