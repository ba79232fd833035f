package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/internal/journal"
)

// A tx is one transaction, shared by the operations of a batch, which run one after another. What calls need has been
// read before they run; what they change is written when all have run. Other operations run their own statements, each
// operation in a savepoint of its own where it is not alone.
type tx struct {
	w             *writer
	ownStatements bool      // the operations run their own statements
	aside         bool      // and none on what calls change
	shared        bool      // by several operations
	unlocked      bool      // nothing is locked between reading and writing
	plain         bool      // nothing is read or written, as far as is known, but what may be in the journal
	presumes      bool      // executions are taken to be as their calls left them; see rowSet.presumed
	now           time.Time // of the whole transaction
	counted       time.Time // on the clock on which limits are counted
	asked         time.Time // when the process asked for that, on its own clock

	// What has been read, in the state it will have when the transaction ends.
	counters   map[counterKey]*counter
	accounts   map[accountKey]*cachedAccount
	pools      map[poolKey]*pool           // in the state that was read, but for what has faded
	owed       map[poolKey]int64           // what is to be added to a pool
	executions map[string]*store.Execution // by id
	keys       map[idempotencyKey]keyedExecution
	nonces     map[nonceKey]bool     // used
	used       map[agreementKey]bool // first used now
	answers    answerSizes

	presumed bool // some executions were not read

	begun   []began
	writes  []command // to be run in their order
	moves   []line    // of executions
	lines   []line    // of the ledger
	closing []command // of a group, after all others
	taken   []takenNonce

	// Of the operation that is running.
	savepoint bool
	undone    bool  // it failed
	fatal     error // the transaction cannot go on

	// Of the journal.
	applied bool            // what was pending is written into the tables
	kept    *journal.Record // of the transaction
	started []began         // in it

	// Of the witness.
	witnessed int64 // as it was read
	testified bool  // it is counted up
	floor     int64 // when the database was last set back
	waits     bool  // it admits no calls yet; see movedPause

	// Of the transaction, once it is committed.
	after   []func()
	changed bool
}

// since returns the time from a moment of the process's clock, at which an operation was requested, to a moment of the
// clock on which limits are counted. It is never too long: that clock was read after the process asked for it.
func (t *tx) since(requested, at time.Time) time.Duration {
	return max(0, t.asked.Sub(requested)) + at.Sub(t.counted)
}

// run runs the operations of a batch. An error ends the transaction.
func (t *tx) run(ctx context.Context, batch []*op) error {
	if len(batch) > 0 && batch[0].kind != nil {
		return t.group(ctx, batch)
	}
	for _, o := range batch {
		if err := t.one(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// one runs an operation and undoes all its changes if it fails. Its own error is returned to its caller; the error
// returned here ends the transaction.
func (t *tx) one(ctx context.Context, o *op) error {
	if !t.ownStatements {
		o.err = o.run(ctx, t)
		return t.fatal
	}
	t.savepoint = false
	t.forget()
	after, changed, taken := len(t.after), t.changed, len(t.taken)
	o.err = o.run(ctx, t)
	if o.err == nil {
		o.err = t.last(ctx)
	}
	if t.fatal != nil {
		return t.fatal
	}
	if o.err != nil {
		t.after, t.changed, t.undone, t.taken = t.after[:after], changed, true, t.taken[:taken]
	}
	if !t.savepoint {
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

// last runs the statements that an operation deferred to its end.
func (t *tx) last(ctx context.Context) error {
	list := t.changes()
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
	if t.w.s.dialect.constraint(err) {
		err = conflict{err}
	}
	return t.failed(err)
}

// failed makes an error of the database the operation's answer, and stops the transaction unless the savepoint is
// enough.
func (t *tx) failed(err error) error {
	if enough := t.savepoint && t.w.s.dialect.constraint(err); err != nil && t.fatal == nil && !enough {
		t.fatal = err
	}
	return unavailable(err)
}

// save makes a savepoint before the first write of an operation.
func (t *tx) save(ctx context.Context) error {
	if t.savepoint || !t.shared {
		return nil
	}
	if _, err := t.w.exec(ctx, "SAVEPOINT op"); err != nil {
		return t.failed(err)
	}
	t.savepoint = true
	return nil
}

// aside is update for operations that neither read nor change what calls change: the tables executions, ledger, accounts, counters and
// pools, and when agreements were used. So they need not wait until those tables have what the journal has, and take place where that
// cannot be written, as on a full disk: then, too, agents can be blocked and tokens revoked. A statement on such a table is an error.
func (s *Store) aside(ctx context.Context, run func(context.Context, *tx) error) error {
	return s.queued(ctx, s.others, &op{run: run, aside: true})
}

// A transact is update or aside.
type transact func(ctx context.Context, run func(context.Context, *tx) error) error

// unless returns aside; or update where an agent is approved: what it owes leaves the pool then.
func (s *Store) unless(approved bool) transact {
	if approved {
		return s.update
	}
	return s.aside
}

// errAside is a mistake in the program; see Store.aside.
var errAside = errors.New("an operation that leaves the journal alone has a statement on what calls change")

// permit returns an error for a statement that an operation must not run.
func (t *tx) permit(query string) error {
	if t.aside && touches(query) {
		return unavailable(errAside)
	}
	return nil
}

// exec runs a statement that writes, and returns how many rows it changed.
func (t *tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := t.permit(query); err != nil {
		return 0, err
	}
	if err := t.save(ctx); err != nil {
		return 0, err
	}
	if strings.Contains(query, "{ledger}") {
		if _, err := t.w.exec(ctx, bumpLedger, 1); err != nil {
			return 0, t.failed(err)
		}
	}
	n, err := t.w.exec(ctx, query, args...)
	if err != nil {
		return 0, t.failed(err)
	}
	return n, nil
}

// write runs a statement whose result the operation does not need: the statement of a call runs when all calls have
// run.
func (t *tx) write(ctx context.Context, query string, args ...any) error {
	if t.ownStatements {
		_, err := t.exec(ctx, query, args...)
		return err
	}
	t.plain = false
	t.writes = append(t.writes, command{query: query, args: args})
	return nil
}

// row reads one row into dest, if there is one.
func (t *tx) row(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
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

// rows calls each with every row.
func (t *tx) rows(ctx context.Context, query string, args []any, each func(scan) error) error {
	if err := t.permit(query); err != nil {
		return err
	}
	if err := t.w.query(ctx, query, args, each); err != nil {
		return t.failed(err)
	}
	return nil
}

// send runs statements in the way of the dialect.
func (w *writer) send(ctx context.Context, list []command) error {
	if len(list) == 0 {
		return nil
	}
	return w.s.dialect.send(ctx, w, list)
}

// effects returns the statements that write what has changed: into the journal, where that is enough.
func (t *tx) effects(ctx context.Context) ([]command, error) {
	t.started = t.begun
	if t.plain {
		for k := range t.owed {
			if t.pools[k] == nil {
				if err := t.w.send(ctx, t.readPool(k)); err != nil {
					return nil, err
				}
			}
		}
	}
	if r := t.record(); r != nil {
		if r.Empty() {
			return t.changes(), nil
		}
		if effects, fits := t.w.encoder.Encode(r); fits {
			t.kept = r
			t.forget()
			return []command{{query: insertRecord, args: []any{effects}}}, nil
		}
	}
	list := t.changes()
	if t.ownStatements || t.applied || len(list) == 0 || t.w.known.pending.Empty() {
		return list, nil
	}
	return list, t.apply(ctx) // first
}

// end writes what calls changed and commits.
func (t *tx) end(ctx context.Context) error {
	d := t.w.s.dialect
	list, err := t.effects(ctx)
	if err != nil {
		return err
	}
	list = append(append(list, t.closing...), t.writeNonces()...)
	if t.changed && d.notify != "" {
		list = append(list, command{query: d.notify})
	}
	if t.unlocked { // sent together, they are one transaction
		if len(list) > 0 {
			list = append(list, t.testify()...)
		}
		err := t.w.send(ctx, list)
		switch {
		case err == nil:
			return nil
		case d.lost(err):
			return unsure{err}
		case d.constraint(err):
			return overtaken{conflict{err}}
		default:
			return err
		}
	}
	last := "COMMIT"
	if !t.applied && (!t.ownStatements && len(list) == 0 || t.ownStatements && !t.shared && t.undone) {
		last = "ROLLBACK"
	} else {
		list = append(list, t.testify()...)
	}
	err = t.w.send(ctx, append(list, command{query: last}))
	switch {
	case err == nil || last == "ROLLBACK":
		return err
	case d.lost(err):
		return unsure{err}
	case d.constraint(err):
		return conflict{err}
	default:
		return err
	}
}

// one reads one row outside the writers.
func (s *Store) one(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	found := false
	err := s.list(ctx, query, args, func(scan scan) error {
		if found {
			return nil
		}
		found = true
		return scan(dest...)
	})
	return found && err == nil, err
}

// list reads rows outside the writers. It repeats the query where an idle connection has ended.
func (s *Store) list(ctx context.Context, query string, args []any, each func(scan) error) error {
	if d := s.dialect.patience; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	began := false
	counted := func(scan scan) error {
		began = true
		return each(scan)
	}
	if touches(query) {
		if err := s.caughtUp(ctx); err != nil {
			return err
		}
	}
	err := s.ask(ctx, query, args, counted)
	if err != nil && !began && s.dialect.lost(err) && ctx.Err() == nil {
		err = s.ask(ctx, query, args, counted)
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

func (s *Store) ask(ctx context.Context, query string, args []any, each func(scan) error) error {
	rows, err := s.read.QueryContext(ctx, s.dialect.rewrite(query), args...)
	if err != nil {
		return err
	}
	return drain(rows, each)
}

// A scan is the Scan of a row.
type scan func(dest ...any) error

func drain(rows *sql.Rows, each func(scan) error) error {
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			_ = rows.Close()
			return err
		}
	}
	if err := rows.Err(); err != nil {
		_ = rows.Close()
		return err
	}
	return rows.Close()
}
