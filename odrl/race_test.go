//go:build race

package odrl

// Raced reports whether the race detector is enabled, which makes pools drop objects.
const Raced = true
