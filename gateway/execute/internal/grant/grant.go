// Package grant holds the permission to make one upstream call. Only packages below gateway/execute can name it, so that
// nobody else reaches an upstream; begin makes one when everything that the call needs has been taken.
package grant

import (
	"errors"
	"time"
)

// A Grant is permission to make one upstream call, until it ends. The zero Grant permits nothing.
type Grant struct {
	executionID string
	check       func() error
}

// New makes a Grant that lives as long as check returns nil. check is called before each attempt and again right before
// the first byte of it is written, also from other goroutines; it must be quick.
func New(executionID string, check func() error) Grant { return Grant{executionID, check} }

// Until makes a Grant that ends at a time, by the monotonic or the wall clock, whichever is there first: one of them stands
// still while the machine sleeps, the other may be set. The zero time is no end.
func Until(executionID string, expires time.Time, now func() time.Time) Grant {
	if expires.IsZero() {
		return New(executionID, endless)
	}
	return New(executionID, func() error {
		if now := now(); !now.Before(expires) || !now.Round(0).Before(expires.Round(0)) {
			return errExpired
		}
		return nil
	})
}

var (
	errExpired = errors.New("the grant has expired")
	errNone    = errors.New("there is no grant")
)

func endless() error { return nil }

// ExecutionID is that of the execution that the call belongs to.
func (g Grant) ExecutionID() string { return g.executionID }

// Alive returns nil if the call may be sent now.
func (g Grant) Alive() error {
	if g.check == nil {
		return errNone
	}
	return g.check()
}
