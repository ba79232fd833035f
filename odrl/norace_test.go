//go:build !race

package odrl

// Rounds is how often a test on random policies goes round.
func Rounds(n int) int { return n }
