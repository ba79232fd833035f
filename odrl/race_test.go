//go:build race

package odrl

// Raced: the race detector is on, which makes everything slower and lets pools forget.
const Raced = true

// Rounds is how often a test on random policies goes round. The race detector makes each round many times slower, and
// the rounds are there for the policies, not for races.
func Rounds(n int) int { return n / 8 }
