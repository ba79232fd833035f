package problem

import "strconv"

// Counted is a number of things in words: 1 error, 2 errors. The noun takes an s where there is not one.
func Counted[N int | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(int64(n), 10) + " " + noun
}
