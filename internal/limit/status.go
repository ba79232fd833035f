package limit

import "time"

// A Status is the state of one limit after a call was admitted or refused.
type Status struct {
	Limit
	Left   int64         // how many more calls can be admitted now
	Resets time.Duration // time until the oldest counted slot expires; 0 for a lifetime limit, and if no units are counted
}

// Shown returns the wait that agents see for a limit. In a rolling period, it is at most the period and one slot. A call counts for up
// to two slots longer than the period, because it may be sent in the slot after its own. If an agent repeats a call in the last of these
// slots, the call is refused again, with the remaining time.
func (r Rate) Shown(wait time.Duration) time.Duration {
	if !r.Period.Rolling() {
		return wait
	}
	return min(wait, time.Duration(r.Period.Seconds())*time.Second+r.Period.SlotLength())
}
