package sqlstore

import "errors"

// A conflict is a failure of a write after every check. A concurrent writer may be the cause: then another attempt
// reads what it wrote.
type conflict struct{ error }

func (c conflict) Unwrap() error { return c.error }

func isConflict(err error) bool {
	_, ok := errors.AsType[conflict](err)
	return ok
}

// An overtaken transaction conflicted, and the server has ended it.
type overtaken struct{ error }

func (o overtaken) Unwrap() error { return o.error }

// An unreachable database accepts no connection.
type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

// A stale connection had ended before anything was written.
type stale struct{ error }

func (s stale) Unwrap() error { return s.error }

func isStale(err error) bool {
	_, ok := errors.AsType[stale](err)
	return ok
}

// After an unsure error it is unknown whether the transaction was committed.
type unsure struct{ error }

func (u unsure) Unwrap() error { return u.error }
