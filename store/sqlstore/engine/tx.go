package engine

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// A Tx is one transaction, shared by the operations of a batch, which run one after another. Statements are written with ? for each
// argument, and FOR UPDATE where a row is read to be changed.
type Tx struct {
	w       *Writer
	scope   scope
	locking Locking
	times   times
	seen    seen
	op      running
	closing []Command // of a group, after all others
	after   []func()  // once it is committed
	changed bool      // something that others have to read
	ending  ending
}

// Locking is what a transaction locks between reading and writing.
type Locking int

const (
	// Pessimistic transactions lock what they read to change it.
	Pessimistic Locking = iota
	// Optimistic transactions lock nothing. They send their changes in one round trip, which is the whole transaction. Each change there
	// is conditional on the row being as it was read.
	Optimistic
)

// times are those of a transaction.
type times struct {
	now     time.Time // of the whole transaction
	counted time.Time // on the clock on which limits are counted
	asked   time.Time // when the process asked for that, on its own clock
}

// running is the state of the operation that is running.
type running struct {
	shared    bool // the transaction, with others
	savepoint bool
	undone    bool // it failed
	undo      []func()
	fatal     error // the transaction cannot go on
}

// ending is whether a transaction is committed.
type ending int

const (
	whenWritten ending = iota // where it has written something
	always
	never
)

// Now returns the time of the store's clock at which the transaction takes place.
func (t *Tx) Now() time.Time { return t.times.now }

// Counted returns the time of the transaction on the clock on which limits are counted.
func (t *Tx) Counted() time.Time { return t.times.counted }

// Asked returns when the process asked for these times, on its own clock.
func (t *Tx) Asked() time.Time { return t.times.asked }

// Since returns the time from a moment of the process's clock, at which an operation was requested, to a moment of the
// clock on which limits are counted. It is never too long: that clock was read after the process asked for it.
func (t *Tx) Since(requested, at time.Time) time.Duration {
	return max(0, t.times.asked.Sub(requested)) + at.Sub(t.times.counted)
}

// Locking returns what the transaction locks.
func (t *Tx) Locking() Locking { return t.locking }

// After runs f once the transaction is committed, unless the operation that is running fails.
func (t *Tx) After(f func()) { t.after = append(t.after, f) }

// Undo runs f if the operation that is running fails.
func (t *Tx) Undo(f func()) { t.op.undo = append(t.op.undo, f) }

// Commit makes the transaction one that is committed also where its operations fail or write nothing. What they run from then on is
// undone by savepoints.
func (t *Tx) Commit() { t.ending, t.op.shared = always, true }

// Fail ends the transaction with an error.
func (t *Tx) Fail(err error) { t.op.fatal = err }

// Failed returns the error that ends the transaction.
func (t *Tx) Failed() error { return t.op.fatal }

// Conflict reports whether only a statement failed, because of the stored data.
func (t *Tx) Conflict(err error) bool {
	return errors.Is(err, ErrUnchanged) || t.w.db.dialect.constraint(err)
}

// one runs an operation and undoes all its changes if it fails. Its own error is returned to its caller; the error
// returned here ends the transaction.
func (t *Tx) one(ctx context.Context, o *op) error {
	t.op.savepoint, t.op.undo = false, nil
	after, changed := len(t.after), t.changed
	o.err = o.run(ctx, t)
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

// failed makes an error of the database the operation's answer, and stops the transaction unless the savepoint is
// enough.
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

// permit returns an error for a statement that an operation must not run.
func (t *Tx) permit(query string) error {
	if t.scope == besideCalls && Touches(query) {
		return Unavailable(ErrAside)
	}
	return nil
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

// Rows calls each with every row.
func (t *Tx) Rows(ctx context.Context, query string, args []any, each func(Scan) error) error {
	if err := t.permit(query); err != nil {
		return err
	}
	if err := t.w.query(ctx, query, args, each); err != nil {
		return t.failed(err)
	}
	return nil
}

// Returning runs a statement that writes and returns rows, and calls each with every row.
func (t *Tx) Returning(ctx context.Context, query string, args []any, each func(Scan) error) error {
	if err := t.save(ctx); err != nil {
		return err
	}
	return t.Rows(ctx, query, args, each)
}

// Send runs statements in their order, in one round trip where the database has a server. They are not undone where the operation
// fails.
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

// Write runs the statements that an operation deferred to its end. Where one does not find a row as it was read, or finds one that was
// not there, the transaction is tried again.
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

// Last runs statements of a group with the end of the transaction, after all others.
func (t *Tx) Last(list []Command) {
	for _, c := range list {
		if err := t.permit(c.Query); err != nil {
			t.op.fatal = err
		}
	}
	t.closing = append(t.closing, list...)
}

// load begins the transaction, reads and locks what its operations need, and then, when nothing more can block, reads the
// clock. An optimistic transaction does not begin yet, and locks nothing.
func (t *Tx) load(ctx context.Context, work work) error {
	db := t.w.db
	var list []Command
	if db.dialect.Sharing == Exclusive {
		if err := t.w.beginAlone(ctx); err != nil {
			return err
		}
	} else if t.locking == Pessimistic {
		list = append(list, Command{Query: db.dialect.begin})
	}
	reads, err := work.read(ctx)
	if err != nil {
		return err
	}
	list = append(list, reads...)
	var clock int64
	if db.dialect.Clock != "" {
		list = append(list, t.readState(&clock))
	}
	if t.locking == Optimistic {
		list = withoutLocks(list)
	}
	durable := true
	if q := db.dialect.durable; q != "" {
		list = append(list, Command{Query: q, Row: func(scan Scan) error { return scan(&durable) }})
	}
	t.times.asked = db.opts.Now()
	from := db.clocks.elapsed()
	if err := t.w.send(ctx, list); err != nil {
		return err
	}
	if !durable {
		return errNotDurable
	}
	if db.dialect.Clock == "" {
		t.times.now, t.times.counted = db.times(ctx)
		return nil
	}
	t.times.now = time.UnixMicro(clock).UTC()
	t.times.counted = t.times.now
	db.seenClock(ctx, from, db.clocks.elapsed(), t.times.now)
	return t.verify()
}

// end writes what was changed and commits.
func (t *Tx) end(ctx context.Context, work work) error {
	d := t.w.db.dialect
	list, err := work.write(ctx)
	if err != nil {
		return err
	}
	if t.changed && d.notify != "" {
		list = append(list, Command{Query: d.notify})
	}
	if t.locking == Optimistic { // sent together, they are one transaction
		if len(list) > 0 {
			list = append(list, t.testify()...)
		}
		err := t.w.send(ctx, list)
		switch {
		case err == nil:
			return nil
		case d.Lost(err):
			return unsure{err}
		case d.constraint(err):
			return overtaken{conflict{err}}
		default:
			return err
		}
	}
	if t.ending == never || t.ending == whenWritten && len(list) == 0 {
		return t.w.send(ctx, []Command{{Query: "ROLLBACK"}})
	}
	err = t.w.send(ctx, append(append(list, t.testify()...), Command{Query: "COMMIT"}))
	switch {
	case err == nil:
		return nil
	case d.Lost(err):
		return unsure{err}
	case d.constraint(err):
		return conflict{err}
	default:
		return err
	}
}
