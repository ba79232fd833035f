//go:build race

package odrl

// Raced: the race detector is on, which lets pools forget.
const Raced = true
