package store

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
)

// A LeaseRequest leases units of limits of one service, for all demands or for none. It also returns unused units of earlier leases.
type LeaseRequest struct {
	Service string
	Returns []LeaseReturn // applied whether or not the demands can be met
	Demands []LeaseDemand // at most one for each counter
}

// A LeaseReturn returns units to the slot in which they were counted, if the slot still counts.
type LeaseReturn struct {
	CounterSlot
	Units int64 // at least 1
}

// A LeaseDemand requests units of one rolling limit. See limit.Slice for how many of the remaining units are leased.
type LeaseDemand struct {
	Reservation
	Units   int64 // units that may be used soon
	Waiting int64 // calls that wait for the units; 0 counts as 1
}

// A Lease is the result of one LeaseDemand. Durations count from the moment at which the holder sent the request, so that for the holder
// they never end later than for the store.
type Lease struct {
	Slot  int64 // the slot that counts the units; for one counter it never decreases
	Units int64 // counted as used from now on; 0 if any of the demands was refused
	// Status is the state of the limit. Its Left does not include the units.
	limit.Status
	Ends    time.Duration // time until the slot ends; no call may be admitted with the units after that
	Expires time.Duration // time until the last slot for dispatch ends; no call that was admitted with the units may be sent after that
	Refusal *LimitError   // not nil if the limit is exhausted
	// Restored has the meaning of CounterSlot.Restored. Once the state has been restored again, the holder must not admit calls with the
	// units.
	Restored time.Time
}
