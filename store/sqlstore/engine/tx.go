package engine

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
)

// NextChange returns the next number of the feed of changes. The row stays locked until the transaction ends, so that the numbers become
// visible in commit order. After an error, it returns 0: see Run.
func (t *Tx) NextChange(ctx context.Context) (n int64) {
	t.Run(ctx, "UPDATE sequences SET n = n + 1 WHERE name = 'changes'")
	t.Find(ctx, "SELECT n FROM sequences WHERE name = 'changes'", nil, &n)
	t.changed = true
	return n
}

// Note writes rows of the sequences table, in the order of their names, because several processes write the same rows.
func (t *Tx) Note(ctx context.Context, rows map[string]int64) error {
	t.RunAll(ctx, noting(rows))
	return t.Err()
}

// noting returns the statements that write rows of the sequences table.
func noting(rows map[string]int64) (list []Command) {
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, Command{
			Query: "INSERT INTO sequences (name, n) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET n = excluded.n", Args: []any{name, rows[name]},
		})
	}
	return list
}

// Locking returns the lock mode of the transaction.
func (t *Tx) Locking() LockMode { return t.locking }

// After makes f run after the commit, unless the running operation fails.
func (t *Tx) After(f func()) { t.after = append(t.after, f) }

// Undo makes f run if the running operation fails.
func (t *Tx) Undo(f func()) { t.op.undo = append(t.op.undo, f) }

// Commit makes the transaction commit even if its operations fail or write nothing. If the running operation fails, only its later
// statements are undone, by a savepoint.
func (t *Tx) Commit() { t.ending, t.op.shared = always, true }

// Confirm must be called if the result of the transaction reports a change that an earlier transaction has committed. If a client gives up
// while its commit waits for a synchronous standby, PostgreSQL makes the commit visible, although a promoted standby may lack it. After
// Confirm, a transaction that writes nothing else increments its witness, so that its own commit waits until the standby has both
// transactions.
func (t *Tx) Confirm() { t.confirms = true }

// Fail makes the transaction fail with err.
func (t *Tx) Fail(err error) { t.op.fatal = err }

// Failed returns the error that the transaction fails with, or nil.
func (t *Tx) Failed() error { return t.op.fatal }

// Conflict reports whether an error means that a statement failed because of the stored data or its arguments.
func (t *Tx) Conflict(err error) bool {
	return errors.Is(err, ErrUnchanged) || t.w.db.dialect.constraint(err)
}

// one runs an operation, and undoes its changes if it fails. The caller of the operation gets the error of the operation. The error that
// one returns ends the transaction.
func (t *Tx) one(ctx context.Context, o *op) error {
	t.op.savepoint, t.op.undo, t.op.err = false, nil, nil
	after, changed := len(t.after), t.changed
	o.err = o.run(ctx, t)
	if t.op.err != nil {
		o.err = t.op.err
	}
	if t.op.fatal != nil {
		return t.op.fatal
	}
	if o.err != nil {
		t.after, t.changed, t.op.undone = t.after[:after], changed, true
		for _, undo := range t.op.undo {
			undo()
		}
	}
	if !t.op.savepoint {
		return nil
	}
	if o.err != nil {
		if _, err := t.w.exec(ctx, "ROLLBACK TO SAVEPOINT op"); err != nil {
			return err
		}
	}
	_, err := t.w.exec(ctx, "RELEASE SAVEPOINT op")
	return err
}

// failed converts an error of the database to the result of the operation. Unless it is enough to roll back to the savepoint, it makes the
// transaction fail.
func (t *Tx) failed(err error) error {
	if enough := t.op.savepoint && t.w.db.dialect.constraint(err); err != nil && t.op.fatal == nil && !enough {
		t.op.fatal = err
	}
	return Unavailable(err)
}

// save makes a savepoint before the first write of an operation.
func (t *Tx) save(ctx context.Context) error {
	if t.op.savepoint || !t.op.shared {
		return nil
	}
	if _, err := t.w.exec(ctx, "SAVEPOINT op"); err != nil {
		return t.failed(err)
	}
	t.op.savepoint = true
	return nil
}

// permit returns an error for a statement that an operation must not run, and the error that the transaction remembers: see Run.
func (t *Tx) permit(query string) error {
	if t.op.err != nil {
		return t.op.err
	}
	if t.scope == besideCalls && Touches(query) {
		return Unavailable(ErrAside)
	}
	return nil
}

// Run runs a statement that writes, and returns how many rows it changed. Run, Find, NextChange, Query, Records and Values return no error:
// the transaction remembers the first one. Later statements then do nothing and return nothing, and the operation fails with that error,
// whatever it returns. Only a loop that ends when a statement has an effect must look at Err.
func (t *Tx) Run(ctx context.Context, query string, args ...any) (changed int64) {
	changed, err := t.Exec(ctx, query, args...)
	t.remember(err)
	return changed
}

// RunAll runs statements, one after another.
func (t *Tx) RunAll(ctx context.Context, list []Command) {
	for _, c := range list {
		t.Run(ctx, c.Query, c.Args...)
	}
}

// Find reads one row into dest, and reports whether there is one. Without dest, it reads nothing.
func (t *Tx) Find(ctx context.Context, query string, args []any, dest ...any) bool {
	if len(dest) == 0 {
		dest = []any{new(any)}
	}
	found, err := t.Row(ctx, query, args, dest...)
	t.remember(err)
	return found
}

// Query runs a statement, and iterates over the rows that it returns. The loop must not run other statements.
func (t *Tx) Query(ctx context.Context, query string, args ...any) iter.Seq[Row] {
	return rowsOf(ctx, t, query, args)
}

// Err returns the first error of the methods that return none, or nil.
func (t *Tx) Err() error { return t.op.err }

func (t *Tx) remember(err error) {
	if t.op.err == nil {
		t.op.err = err
	}
}

// each implements rowSource.
func (t *Tx) each(ctx context.Context, query string, args []any, each func(Scan) error) {
	err := t.permit(query)
	if err == nil && !strings.HasPrefix(query, "SELECT") {
		err = t.save(ctx)
	}
	if err == nil {
		if err = t.w.query(ctx, query, args, each); err != nil && !errors.Is(err, errBreak) {
			err = t.failed(err)
		}
	}
	if !errors.Is(err, errBreak) {
		t.remember(err)
	}
}

// Exec runs a statement that writes, and returns how many rows it changed.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := t.permit(query); err != nil {
		return 0, err
	}
	if err := t.save(ctx); err != nil {
		return 0, err
	}
	if strings.Contains(query, "{ledger}") {
		if _, err := t.w.exec(ctx, BumpLedger, 1); err != nil {
			return 0, t.failed(err)
		}
	}
	n, err := t.w.exec(ctx, query, args...)
	if err != nil {
		return 0, t.failed(err)
	}
	return n, nil
}

// Row reads one row into dest, and reports whether there is one.
func (t *Tx) Row(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	if err := t.permit(query); err != nil {
		return false, err
	}
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

// Rows runs a query and calls the function each for every row.
func (t *Tx) Rows(ctx context.Context, query string, args []any, each func(Scan) error) error {
	if err := t.permit(query); err != nil {
		return err
	}
	if err := t.w.query(ctx, query, args, each); err != nil {
		return t.failed(err)
	}
	return nil
}

// Send runs statements in order, in one round trip if the database has a server. Their changes are not undone if only the operation fails.
func (t *Tx) Send(ctx context.Context, list []Command) error {
	for _, c := range list {
		if err := t.permit(c.Query); err != nil {
			return err
		}
	}
	if t.locking == Optimistic {
		list = withoutLocks(list)
	}
	err := t.w.send(ctx, list)
	if err == nil {
		return nil
	}
	if answer := t.failed(err); t.op.fatal == nil {
		return answer
	}
	return err // the transaction fails with it
}

// Write runs the statements that an operation deferred to its end. If a row is not as the operation read it, or exists although the
// operation did not find it, the transaction is retried.
func (t *Tx) Write(ctx context.Context, list []Command) error {
	if len(list) == 0 {
		return nil
	}
	if err := t.save(ctx); err != nil {
		return err
	}
	err := t.w.send(ctx, list)
	if err == nil {
		return nil
	}
	if t.w.db.dialect.constraint(err) {
		err = conflict{err}
	}
	return t.failed(err)
}

// Last adds statements that run at the end of the transaction, after all others.
func (t *Tx) Last(list []Command) {
	for _, c := range list {
		if err := t.permit(c.Query); err != nil {
			t.op.fatal = err
		}
	}
	t.closing = append(t.closing, list...)
}
