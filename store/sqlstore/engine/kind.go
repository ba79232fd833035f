package engine

import (
	"context"
	"time"
)

// nothing is an operation that only makes pending changes be written.
func nothing(context.Context, *Tx) error { return nil }

// Operations that run their own statements, each in a separate savepoint unless it is alone.
var (
	update kind = statements{everything}
	aside  kind = statements{besideCalls}
)

type statements struct{ scope scope }

func (statements) patience(d *Dialect) time.Duration { return d.Patience }

func (statements) shared(d *Dialect) bool { return d.Sharing == Exclusive }

func (s statements) begin(t *Tx, batch []*op, _ int) work {
	t.scope, t.op.shared = s.scope, len(batch) > 1
	return ownStatements{t}
}

// ownStatements is the work of such operations.
type ownStatements struct{ t *Tx }

func (o ownStatements) read(ctx context.Context) ([]Command, error) {
	db := o.t.w.db
	if o.t.scope != everything || db.dialect.Sharing != Exclusive || db.Layer == nil {
		return nil, nil
	}
	return nil, db.Layer.CatchUp(ctx, o.t)
}

func (o ownStatements) run(ctx context.Context, batch []*op) error {
	for _, one := range batch {
		if err := o.t.one(ctx, one); err != nil {
			return err
		}
	}
	o.t.ending = always
	if o.t.op.undone && !o.t.op.shared {
		o.t.ending = never
	}
	return nil
}

func (ownStatements) write(context.Context) ([]Command, error) { return nil, nil }

func (groupWork) read(context.Context) ([]Command, error) { return nil, nil }

// Update runs one operation inside the next transaction, and returns when that is durable, with the operation's own
// error if it had one. If ctx ends first the operation does not run at all; once it runs, Update waits for its end.
func (db *DB) Update(ctx context.Context, run func(context.Context, *Tx) error) error {
	return db.queued(ctx, db.queues.others, &op{kind: update, run: run})
}

// Aside is Update for operations that neither read nor change what calls change: the tables executions, ledger, accounts, counters and
// pools, and when agreements were used. So they need not wait until those tables have what the journal has, and work even if that cannot
// be written, for example on a full disk: agents can still be blocked and tokens revoked. A statement on such a table is an error.
func (db *DB) Aside(ctx context.Context, run func(context.Context, *Tx) error) error {
	return db.queued(ctx, db.queues.others, &op{kind: aside, run: run})
}
