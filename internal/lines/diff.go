package lines

import (
	"slices"
	"strings"
)

// maxDiff bounds the product of the numbers of lines that Diff compares with each other.
const maxDiff = 4_000_000

// Diff returns the lines that differ between two texts, in order: lines of before that are missing from after begin with "- ", and lines of
// after that are missing from before with "+ ". If the differing parts of the texts are long, it lists all of their lines.
func Diff(before, after string) (out []string) {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	common := func(int, int) int { return 0 }
	if len(a)*len(b) <= maxDiff {
		common = longest(a, b)
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j] && len(a)*len(b) <= maxDiff:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common(i+1, j) >= common(i, j+1):
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}

// longest returns a function that returns the length of the longest common subsequence of a[i:] and b[j:].
func longest(a, b []string) func(i, j int) int {
	width := len(b) + 1
	table := make([]int32, (len(a)+1)*width)
	for i, of := range slices.Backward(a) {
		for j, with := range slices.Backward(b) {
			if of == with {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	return func(i, j int) int { return int(table[i*width+j]) }
}
