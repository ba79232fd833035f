//go:build soak

package words

// The sizes of the conditions in the test of the bound of tests of facts.
const (
	choiceValues = 5_000
	wideDepth    = 7 // 16,384 comparisons, which are 1.2 MB
)
