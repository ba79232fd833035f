package store

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
)

// A LeaseRequest leases units of limits of one service, all or none, and returns unused units of earlier leases.
type LeaseRequest struct {
	Service string
	Returns []LeaseReturn // applied whether or not the demands can be met
	Demands []LeaseDemand // at most one for each counter
}

// A LeaseReturn returns units to the slot that they were counted in, if it still counts.
type LeaseReturn struct {
	CounterSlot
	Units int64 // at least 1
}

// A LeaseDemand requests units of one rolling limit. See limit.Slice for how many of the remaining units are leased.
type LeaseDemand struct {
	Reservation
	Units   int64 // units that may be used soon
	Waiting int64 // calls that wait for it; counted as at least 1
}

// A Lease is the result of one LeaseDemand. Durations count from when the holder sent the request; a holder that counts them so is never
// later than the store.
type Lease struct {
	Slot  int64 // that the units are counted in; for one counter it never moves back
	Units int64 // counted as used from now on; 0 if any of the demands was refused
	// Standing has in Left what remains beside the units. For a refusal it is the state of the refused limit.
	limit.Status
	Ends    time.Duration // until the store's slot ends: from then on no call may be admitted with the units
	Expires time.Duration // until a call that was admitted with them may no longer be sent: the end of the last slot for dispatch
	Refusal *LimitError   // nil, or: the limit is exhausted
	// Restored is that of the slot: see CounterSlot. No call may be admitted with the units once the state was set back at another time.
	Restored time.Time
}
