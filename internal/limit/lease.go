package limit

// LeaseFrom is the least Max of a limit whose units may be leased. Of a smaller limit, the unused units of one gateway process would be
// missing in the others.
const LeaseFrom = 100

// Slice returns how many units to lease when left units of the limit remain: an eighth, and at most wanted. So the units that are unused
// in one process, or are lost with it, stay few compared with those that others can still take. waiting is how many calls wait for this
// lease; each gets a unit while there are any, because it uses its unit at once. Values of wanted and waiting below one count as one; if
// nothing is left the result is 0.
func Slice(left, wanted, waiting int64) int64 {
	if left <= 0 {
		return 0
	}
	eighth := (left-1)/8 + 1
	return min(left, max(1, waiting, min(eighth, wanted)))
}
