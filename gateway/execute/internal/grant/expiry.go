package grant

import (
	"errors"
	"time"
)

// ErrExpired means that an attempt may no longer be sent.
var ErrExpired = errors.New("the grant has expired")

// Expired returns ErrExpired after a time, by the monotonic or the wall clock, whichever reaches it first: the monotonic clock stops while
// the machine sleeps, and the wall clock may be set.
func Expired(expires, now time.Time) error {
	if !now.Before(expires) || !now.Round(0).Before(expires.Round(0)) {
		return ErrExpired
	}
	return nil
}
