package limit

// LeaseFrom is the least Max of a limit whose units may be taken in advance. Of a smaller one, what lies
// unused with one gateway process would be missed by the others.
const LeaseFrom = 100

// Slice is how many units are leased at once, of those that a limit has left: an eighth, but no more than
// are wanted, so that what lies unused with one process, or is lost with it, stays small beside what the others can
// still take. waiting is how many calls wait for this lease; they get a unit each as long as there are any, since
// theirs do not lie unused. Numbers below one count as one; where nothing is left it is 0.
func Slice(left, wanted, waiting int64) int64 {
	if left <= 0 {
		return 0
	}
	eighth := (left-1)/8 + 1
	return min(left, max(1, waiting, min(eighth, wanted)))
}
