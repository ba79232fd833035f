package upstream

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Ready reports, as a *BreakerOpenError, that calls are refused for now. Ask before anything is reserved
// for a call; Call itself refuses too.
func (u *Upstream) Ready() error {
	switch u.breaker.State() {
	case gobreaker.StateOpen:
		return u.refused()
	case gobreaker.StateHalfOpen:
		if c := u.breaker.Counts(); c.Requests > c.TotalExclusions { // the probe is under way
			return u.refused()
		}
	case gobreaker.StateClosed:
	}
	return nil
}

// BreakerState is closed, half-open or open.
func (u *Upstream) BreakerState() string { return u.breaker.State().String() }

func (u *Upstream) refused() error {
	left := time.Unix(0, u.opened.Load()).Add(u.cfg.Breaker.OpenFor).Sub(u.cfg.Now())
	// Between opening and the probe's end there is always something to wait for.
	return &BreakerOpenError{RetryAfter: min(max(left, time.Second), u.cfg.Breaker.OpenFor+time.Second)}
}

func (u *Upstream) stateChanged(_ string, _, to gobreaker.State) {
	if to == gobreaker.StateOpen {
		u.opened.Store(u.cfg.Now().UnixNano())
	}
}

// isFailure reports whether an error counts against the service's health.
func isFailure(err error) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Status >= http.StatusInternalServerError
	}
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrTimeout) || errors.Is(err, ErrBroken)
}

// isExcluded reports whether an error is no evidence about the service, because it was not called.
func isExcluded(err error) bool {
	return errors.Is(err, ErrGrantEnded) || errors.Is(err, ErrIdentity) || errors.Is(err, context.Canceled)
}
