package problem

import "strconv"

// Counted returns a number with a noun: 1 error, 2 errors. Unless the number is one, Counted adds an s to the noun.
func Counted[N int | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(int64(n), 10) + " " + noun
}
