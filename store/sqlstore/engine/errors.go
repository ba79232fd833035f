package engine

import (
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/store"
)

var (
	// ErrInUse means that another process has the database open.
	ErrInUse = errors.New("another process has the database open")
	// ErrDamaged means that the parts of a database contradict each other.
	ErrDamaged = errors.New("the database is damaged")
	// ErrNotOurs means that a file is not a database of uimgate.
	ErrNotOurs = errors.New("this is not a database of uimgate")
	// ErrMisfit means that the tables were changed while changes of calls were not in them yet.
	ErrMisfit = errors.New("charges that are not yet in their tables do not fit them: " +
		"undo what somebody changed there by SQL, or take the state back to a backup")
	// ErrUnchanged means that a row was not as it was read, or as it was cached.
	ErrUnchanged = errors.New("a row has changed meanwhile")

	errClosed = errors.New("the store is closed")
	// errUnanswered is the error of operations that waited behind a transaction without a response of the database in time. They did not
	// run.
	errUnanswered = errors.New("the database does not answer")
	// ErrAside is a mistake in the program; see DB.Aside.
	ErrAside = errors.New("an operation that leaves the journal alone has a statement on what calls change")
	// errNotDurable means that a crash of the server could lose commits.
	errNotDurable = errors.New("the server has fsync or synchronous_commit = off, so that a crash loses what was charged: set both to on")
)

// Unavailable wraps an error of the database in store.ErrUnavailable; the caller must deny.
func Unavailable(cause error) error {
	if errors.Is(cause, store.ErrUnavailable) {
		return cause
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, cause)
}

// A conflict is a failure of a write after every check. A concurrent writer may be the cause: another attempt then reads what it wrote.
type conflict struct{ error }

func (c conflict) Unwrap() error { return c.error }

// Conflict makes an error one after which the transaction is retried.
func Conflict(err error) error { return conflict{err} }

// A serverConflictError means that a transaction conflicted and that the server has ended it.
type serverConflictError struct{ error }

func (o serverConflictError) Unwrap() error { return o.error }

// An unreachable database accepts no connections.
type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

// A stale connection had ended before anything was written.
type stale struct{ error }

func (s stale) Unwrap() error { return s.error }

// An unansweredError is the error of a transaction without a response within the time of an attempt. If it may have been committed, the
// error is also unsure.
type unansweredError struct{ error }

func (e unansweredError) Unwrap() error { return e.error }

// After an unsure error it is unknown whether the transaction was committed.
type unsure struct{ error }

func (u unsure) Unwrap() error { return u.error }

// Unsure reports whether it is unknown whether the transaction of an operation was committed.
func Unsure(err error) bool { return is[unsure](err) }

// Closed reports whether an operation was rejected because the database is closed.
func Closed(err error) bool { return errors.Is(err, errClosed) }

func is[E error](err error) bool {
	_, found := errors.AsType[E](err)
	return found
}
