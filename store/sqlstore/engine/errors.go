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
	// ErrEmpty means that a database has no tables of uimgate yet. The gateway creates them when it starts.
	ErrEmpty = errors.New("the database is empty")
	// ErrMisfit means that changes in the journal contradict the tables, because the tables were changed outside uimgate.
	ErrMisfit = errors.New("the journal has charges that contradict the tables: " +
		"undo the changes that were made to the tables by hand, or restore a backup")
	// ErrUnchanged means that a statement changed no row, because the row has changed since it was read or cached.
	ErrUnchanged = errors.New("a row was changed concurrently")

	errClosed = errors.New("the store is closed")
	// errUnanswered is the error of operations that were queued behind a transaction to which the database did not respond in time. They did
	// not run.
	errUnanswered = errors.New("the database does not respond")
	// ErrAside is a programming error: see DB.Aside.
	ErrAside = errors.New("an operation of Aside uses one of the tables or columns in CallTables")
	// errNotDurable means that a crash of the server can lose commits.
	errNotDurable = errors.New("the server has fsync or synchronous_commit = off, so a crash can lose charges: set both to on")
)

// Unavailable wraps an error of the database in store.ErrUnavailable; the caller must deny the call.
func Unavailable(cause error) error {
	if errors.Is(cause, store.ErrUnavailable) {
		return cause
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, cause)
}

// A conflict is a write that failed although all checks had passed. If a concurrent writer is the cause, the next attempt reads what that
// writer wrote.
type conflict struct{ error }

func (c conflict) Unwrap() error { return c.error }

// Conflict wraps an error so that the transaction is retried.
func Conflict(err error) error { return conflict{err} }

// A serverConflictError means that a transaction conflicted and that the server has already rolled it back.
type serverConflictError struct{ error }

func (o serverConflictError) Unwrap() error { return o.error }

// unreachable is the error of a database that accepts no connections.
type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

// stale is the error of a connection that ended before anything was written.
type stale struct{ error }

func (s stale) Unwrap() error { return s.error }

// An unansweredError is the error of a transaction to which the database did not respond within the time limit of an attempt. If the
// transaction may have been committed, the error wraps an unsure error.
type unansweredError struct{ error }

func (e unansweredError) Unwrap() error { return e.error }

// unsure is the error of a transaction that may have been committed.
type unsure struct{ error }

func (u unsure) Unwrap() error { return u.error }

// Unsure reports whether an operation that failed may have been committed.
func Unsure(err error) bool { return is[unsure](err) }

// Closed reports whether an operation was rejected because the database is closed.
func Closed(err error) bool { return errors.Is(err, errClosed) }

func is[E error](err error) bool {
	_, found := errors.AsType[E](err)
	return found
}
