//go:build race

package odrl

// Rounds is how often a test on random policies goes round. The race detector makes each round many times slower, and
// the rounds are there for the policies, not for races.
func Rounds(n int) int { return n / 8 }
