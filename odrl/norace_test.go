//go:build !race

package odrl

// Raced: the race detector is on.
const Raced = false

// Rounds is how often a test on random policies goes round.
func Rounds(n int) int { return n }
