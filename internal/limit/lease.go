package limit

// LeaseFrom is the least Max of a limit whose units may be taken in advance. Of a smaller limit, the unused units of
// one gateway process would be missing to the others.
const LeaseFrom = 100

// Slice returns how many units are leased at once, where left units of the limit remain: an eighth, and at most wanted.
// So the units that lie unused in one process, or are lost with it, stay few beside those that others can still take.
// waiting is how many calls wait for this lease; each of them gets a unit while there are any, since it uses its unit
// at once. Values of wanted and waiting below one count as one; where nothing is left the result is 0.
func Slice(left, wanted, waiting int64) int64 {
	if left <= 0 {
		return 0
	}
	eighth := (left-1)/8 + 1
	return min(left, max(1, waiting, min(eighth, wanted)))
}
