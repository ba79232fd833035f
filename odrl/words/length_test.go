//go:build !soak

package words

// The sizes of the conditions in the test of the bound of tests of facts. With the build tag soak they are larger.
const (
	choiceValues = 1_000
	wideDepth    = 5 // 1,024 comparisons
)
