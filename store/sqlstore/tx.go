package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// A tx is one transaction, shared by the operations of a batch, which run one after another. An
// operation has a savepoint of its own from its first write on.
type tx struct {
	w        *writer
	now      time.Time // of the whole transaction
	counters map[counterKey]*counter

	// Of the operation that runs now.
	savepoint bool
	taken     []taken
	fatal     error // the transaction cannot go on

	// Of the transaction, once it is committed.
	after   []func()
	changed bool
}

// one runs an operation and takes back all it did if it fails. Its own error goes to its caller; the error
// returned here ends the transaction.
func (t *tx) one(ctx context.Context, o *op) error {
	t.savepoint, t.taken, t.fatal = false, t.taken[:0], nil
	after, changed := len(t.after), t.changed
	o.err = o.run(ctx, t)
	if t.fatal != nil {
		return t.fatal
	}
	if o.err != nil {
		t.after, t.changed = t.after[:after], changed
		for _, c := range t.taken {
			c.undo()
		}
	}
	if !t.savepoint {
		return nil
	}
	if o.err != nil {
		if err := t.w.command(ctx, "ROLLBACK TO SAVEPOINT op"); err != nil {
			return err
		}
	}
	return t.w.command(ctx, "RELEASE SAVEPOINT op")
}

// failed turns an error of the database into the operation's answer, and stops the transaction unless the
// savepoint is enough.
func (t *tx) failed(err error) error {
	if err != nil && !t.w.s.dialect.constraint(err) && t.fatal == nil {
		t.fatal = err
	}
	return unavailable(err)
}

// exec runs a statement that writes, and returns how many rows it changed.
func (t *tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	if !t.savepoint {
		if err := t.w.command(ctx, "SAVEPOINT op"); err != nil {
			return 0, t.failed(err)
		}
		t.savepoint = true
	}
	n, err := t.w.exec(ctx, query, args...)
	if err != nil {
		return 0, t.failed(err)
	}
	return n, nil
}

func (w *writer) exec(ctx context.Context, query string, args ...any) (int64, error) {
	s, err := w.stmt(ctx, query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// row reads one row into dest, if there is one.
func (t *tx) row(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	s, err := t.w.stmt(ctx, query)
	if err != nil {
		return false, t.failed(err)
	}
	switch err := s.QueryRowContext(ctx, args...).Scan(dest...); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, t.failed(err)
	default:
		return true, nil
	}
}

// rows calls each with every row.
func (t *tx) rows(ctx context.Context, query string, args []any, each func(scan) error) error {
	s, err := t.w.stmt(ctx, query)
	if err != nil {
		return t.failed(err)
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return t.failed(err)
	}
	if err := drain(rows, each); err != nil {
		return t.failed(err)
	}
	return nil
}

// A scan is the Scan of a row.
type scan func(dest ...any) error

func drain(rows *sql.Rows, each func(scan) error) error {
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// one reads one row outside the writers.
func (s *Store) one(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	switch err := s.read.QueryRowContext(ctx, s.dialect.rewrite(query), args...).Scan(dest...); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, unavailable(err)
	default:
		return true, nil
	}
}

// list reads rows outside the writers.
func (s *Store) list(ctx context.Context, query string, args []any, each func(scan) error) error {
	rows, err := s.read.QueryContext(ctx, s.dialect.rewrite(query), args...)
	if err != nil {
		return unavailable(err)
	}
	if err := drain(rows, each); err != nil {
		return unavailable(err)
	}
	return nil
}
