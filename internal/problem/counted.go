package problem

import "strconv"

// Counted returns a number with its noun: 1 error, 2 errors. The noun gets an s unless the number is one.
func Counted[N int | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(int64(n), 10) + " " + noun
}
