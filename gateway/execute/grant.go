package execute

import (
	"errors"
	"time"
)

// A Grant is permission to make one upstream call, until it expires. Only begin makes one; the zero
// Grant permits nothing.
type Grant struct {
	executionID string
	expires     time.Time // zero: no limit of the call has a far edge to respect
	valid       bool
	now         func() time.Time
}

var errGrantExpired = errors.New("the grant has expired")

// alive is asked right before the first byte is sent. The grant ends by the monotonic or the wall clock, whichever is
// there first: one of them stands still while the machine sleeps, the other may be set.
func (g Grant) alive() error {
	if !g.valid {
		return errGrantExpired
	}
	if g.expires.IsZero() {
		return nil
	}
	if now := g.now(); !now.Before(g.expires) || !now.Round(0).Before(g.expires.Round(0)) {
		return errGrantExpired
	}
	return nil
}
