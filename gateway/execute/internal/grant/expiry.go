package grant

import (
	"errors"
	"time"
)

// ErrExpired means that a Grant has expired: the attempt may no longer be sent.
var ErrExpired = errors.New("the grant has expired")

// Expired returns ErrExpired if now is not before expires according to the monotonic clock or the wall clock. It checks both, because the
// monotonic clock stops while the machine sleeps, and the wall clock may be set.
func Expired(expires, now time.Time) error {
	if !now.Before(expires) || !now.Round(0).Before(expires.Round(0)) {
		return ErrExpired
	}
	return nil
}
