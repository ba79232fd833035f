package store

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/pat"
)

// A LeaseRequest takes units of limits of one service in advance, all or none, and gives back what was not
// used of those taken before.
type LeaseRequest struct {
	Service string
	Returns []LeaseReturn // taken into account whether Wants can be had or not
	Wants   []LeaseWant   // at most one of each counter
}

// A LeaseReturn gives units back to the slot they were counted in, as far as it still counts them.
type LeaseReturn struct {
	TakenSlot
	Units int64 // at least 1
}

// A LeaseWant asks for units of one limit. limit.Slice says how many of those left are leased.
type LeaseWant struct {
	Reservation
	Units   int64 // as many as may be of use soon
	Waiting int64 // calls that wait for it; counted as at least 1
}

// Leased answers one LeaseWant. Durations count from the store's time in the transaction; the holder counts
// them from when it sent the request, and so is never later than the store.
type Leased struct {
	Slot  int64 // the units are counted in; it never goes back for a counter
	Units int64 // counted as used from now on; 0 where any of the wants was refused
	// Standing has what is left beside the units. It is that of the refusal where there is one.
	Standing
	Ends    time.Duration // until the store's slot ends: then no call may be admitted on the units any more
	Expires time.Duration // until a call that was admitted on them may no longer be sent: the end of the slot after it
	Refusal *LimitError   // the limit is used up
}

// Leases is the part of an engine that lets a process take units of limits in advance, so that not every
// call has to be written down.
type Leases interface {
	// Lease is one transaction. ErrUnavailable leaves open whether it took place: units may then be counted as used
	// that nobody holds, and Returns must not be sent again. A want that cannot be leased (no rolling limit,
	// a rate that is none) is an error of its own, with nothing taken or given.
	Lease(ctx context.Context, r LeaseRequest) ([]Leased, error)
	// Used reports whether this process knows that a call under the agreement is on record. The first one has
	// to go through Begin, which writes it down: it makes the agreement worth keeping.
	Used(service string, id pat.AgreementID) bool
}
