package limit

// LeaseFrom is the minimum Max of a limit whose units may be leased. With a smaller limit, the unused units of one gateway process would
// be missing from the others.
const LeaseFrom = 100

// Slice returns how many units to lease: an eighth of left, which is the number of units that remain, but at most wanted. Few units are
// then unused in one process, or lost with it, compared with those that others can still take. waiting is the number of calls that wait for
// this lease. Each gets a unit as long as there are any, because it uses the unit immediately. Values of wanted and waiting below one count
// as one. If left is not positive, Slice returns 0.
func Slice(left, wanted, waiting int64) int64 {
	if left <= 0 {
		return 0
	}
	eighth := (left-1)/8 + 1
	return min(left, max(1, waiting, min(eighth, wanted)))
}
