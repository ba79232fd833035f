package store

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
)

// A LeaseRequest takes units of limits of one service in advance, all or none, and gives back what was not used of those taken
// before.
type LeaseRequest struct {
	Service string
	Returns []LeaseReturn // taken into account whether the demands can be met or not
	Demands []LeaseDemand // at most one for each counter
}

// A LeaseReturn gives units back to the slot they were counted in, as far as it still counts them.
type LeaseReturn struct {
	CounterSlot
	Units int64 // at least 1
}

// A LeaseDemand asks for units of one rolling limit. See limit.Slice for how many of those left are leased.
type LeaseDemand struct {
	Reservation
	Units   int64 // as many as may be of use soon
	Waiting int64 // calls that wait for it; counted as at least 1
}

// A Lease answers one LeaseDemand. Durations count from the store's time in the transaction. The holder counts them from when it
// sent the request, and so is never later than the store.
type Lease struct {
	Slot  int64 // that the units are counted in; it never goes back for a counter
	Units int64 // counted as used from now on; 0 where any of the demands was refused
	// Standing has in Left what is left beside the units. It is that of the refusal where there is one.
	limit.Standing
	Ends    time.Duration // until the store's slot ends: then no call may be admitted on the units any more
	Expires time.Duration // until a call that was admitted on them may no longer be sent: the end of the slot after it
	Refusal *LimitError   // nil, or: the limit is used up
}
