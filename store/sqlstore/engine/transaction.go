package engine

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Alone runs an operation in a transaction on a separate connection. It makes only one attempt. On an Exclusive database, no writer may be
// running.
func (db *DB) Alone(ctx context.Context, run func(context.Context, *Tx) error) error {
	return db.alone(ctx, update, run)
}

func (db *DB) alone(ctx context.Context, k kind, run func(context.Context, *Tx) error) error {
	w := &Writer{db: db}
	defer w.drop()
	o := &op{kind: k, run: run}
	if _, err := w.try(ctx, []*op{o}, 1); err != nil {
		return err
	}
	return o.err
}

// load begins the transaction, reads and locks the rows that its operations need, and reads the clock last, when nothing can block any
// more. An optimistic transaction locks nothing, and begins later, when it writes.
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
		list = append(list, Command{Query: q, Row: func(scan Scan) error { return scan(&durable, &t.seen.replicated) }})
	}
	t.times.requestedAt = db.opts.Now()
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
	return t.verify(ctx)
}

// end writes the changes and commits, or rolls back if t.ending requires it.
func (t *Tx) end(ctx context.Context, work work) error {
	d := t.w.db.dialect
	list, err := work.write(ctx)
	if err != nil {
		return err
	}
	list = append(list, t.closing...)
	if len(list) > 0 {
		if rows := t.w.db.notes.Rows(); len(rows) > 0 {
			list = append(list, noting(rows)...)
			t.After(func() { t.w.db.notes.Wrote(rows) })
		}
	}
	if t.changed && d.notify != "" {
		list = append(list, Command{Query: d.notify})
	}
	confirms := t.confirms && t.seen.replicated
	if t.locking == Optimistic { // PostgreSQL executes the commands of one message in one transaction
		if len(list) > 0 || confirms {
			list = append(list, t.testify()...)
		}
		err := t.w.send(ctx, list)
		switch {
		case err == nil:
			return nil
		case d.Lost(err):
			return unsure{err}
		case d.constraint(err):
			return serverConflictError{conflict{err}}
		default:
			return err
		}
	}
	if t.ending == never || t.ending == whenWritten && len(list) == 0 && !confirms {
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

// try runs a batch in one transaction. n is the number of the attempt, counted from 1. If try returns an error, and Unsure
// returns false for it, no change of the batch is stored.
func (w *Writer) try(ctx context.Context, batch []*op, n int) (_ *Tx, err error) {
	d := w.db.dialect
	if p := batch[0].kind.patience(d); p > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p)
		defer cancel()
	}
	defer func() {
		if err != nil && !is[serverConflictError](err) {
			w.abort(ctx, err)
		}
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = unansweredError{err}
		}
	}()
	reused, err := w.connect(ctx)
	if err != nil {
		return nil, unreachable{err}
	}
	t := &Tx{w: w}
	work := batch[0].kind.begin(t, batch, n)
	if err := t.load(ctx, work); err != nil {
		switch {
		case reused && d.Lost(err) && ctx.Err() == nil:
			err = stale{err}
		case d.constraint(err):
			err = conflict{err}
		}
		return nil, err
	}
	// From here on, the transaction does not wait for others. Every operation that was not abandoned by now runs.
	batch = slices.DeleteFunc(slices.Clone(batch), func(o *op) bool {
		return !o.state.CompareAndSwap(opQueued, opRunning) && o.state.Load() == opAbandoned
	})
	if len(batch) > 0 {
		if err := work.run(ctx, batch); err != nil {
			return nil, err
		}
	}
	if err := t.end(ctx, work); err != nil {
		return t, err
	}
	t.acknowledge()
	for _, f := range t.after {
		f()
	}
	return t, nil
}
