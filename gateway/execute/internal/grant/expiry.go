package grant

import (
	"errors"
	"time"
)

// ErrExpired means that the time to send an attempt is over.
var ErrExpired = errors.New("the grant has expired")

// Expired returns ErrExpired from a time on, by the monotonic or the wall clock, whichever reaches it first: the one stands still while
// the machine sleeps, the other may be set.
func Expired(expires, now time.Time) error {
	if !now.Before(expires) || !now.Round(0).Before(expires.Round(0)) {
		return ErrExpired
	}
	return nil
}
