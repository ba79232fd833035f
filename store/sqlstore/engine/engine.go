// Package engine runs transactions on an SQL database: SQLite with a write-ahead log that is flushed at every commit, or PostgreSQL, which
// several processes may share. It does not depend on the contents of the records.
//
// Callers queue their operations. A writer is a goroutine with a connection. It takes all waiting operations, reads the rows that they
// need, runs them one after another, writes all their changes, commits once, and then lets all callers return. The changes of a caller are
// therefore durable when it returns; one disk flush serves many callers; and an operation that fails changes nothing and does not affect
// the others. Reads outside transactions use separate connections.
package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
)

// DialectOf returns the dialect for a place: PostgreSQL for its URL, SQLite for a path.
func DialectOf(place string) *Dialect {
	if IsPostgres(place) {
		return Postgres()
	}
	return SQLite()
}

// Connect opens the connections of a database.
func (db *DB) Connect(ctx context.Context, place string) (err error) {
	db.write, db.read, err = db.dialect.Open(ctx, place)
	return err
}

// Upgrade runs a migration of the schema. On PostgreSQL, it first waits until no other process runs one, and then registers this process as
// a user of the database.
func (db *DB) Upgrade(ctx context.Context, place string, migrate Migration) error {
	if db.dialect.upgrade == nil {
		return migrate(ctx, db.write, func(context.Context) error { return nil })
	}
	return db.dialect.upgrade(ctx, place, db.write, migrate)
}

// ReadState reads what other processes have recorded about clocks, servers and restores.
func (db *DB) ReadState(ctx context.Context) error {
	if _, err := db.Newest(ctx); err != nil { // which also reads the clock
		return err
	}
	if err := db.ReadFloor(ctx); err != nil {
		return err
	}
	db.commits.lastSetBack.Store(nil) // restores before this start do not count
	if db.dialect.Clock == "" {
		return nil
	}
	if err := db.readStep(ctx); err != nil {
		return err
	}
	return db.readServer(ctx)
}

// readStep reads the last step of the clock that another process has stored.
func (db *DB) readStep(ctx context.Context) error {
	read, err := db.sequences(ctx, "stepped", "step_forward", "step_back")
	db.clocks.steps.Restore(window.Step{
		At: FromNanos(read["stepped"]), Forward: time.Duration(read["step_forward"]), Back: time.Duration(read["step_back"]),
	})
	return err
}

// readServer records the current server of the database, and checks whether it is the same server as when the database was last open. If
// the server hides its identity, nothing is compared.
func (db *DB) readServer(ctx context.Context) error {
	found, err := db.sequences(ctx, systemNote, timelineNote)
	if err != nil {
		return err
	}
	var is server
	was := server{found[systemNote], found[timelineNote]}
	if db.read.QueryRowContext(ctx, selectServer).Scan(&is.system, &is.timeline) != nil {
		return nil //nolint:nilerr // some servers, such as managed ones, hide their identity
	}
	db.server.is.Store(&is)
	if was != is {
		db.server.serverChanged.Store(was != server{})
		db.noteNow(ctx, map[string]int64{systemNote: is.system, timelineNote: is.timeline})
	}
	return nil
}

// noteNow is like Note, for use before the writers start. It writes the rows at once, so that no writer connects only for them. If this
// fails, they stay pending.
func (db *DB) noteNow(ctx context.Context, rows map[string]int64) {
	db.Note(rows)
	if db.alone(ctx, aside, func(ctx context.Context, t *Tx) error { return t.Note(ctx, rows) }) == nil {
		db.notes.Wrote(rows)
	}
}

// Disconnect closes the connections of a database that was not started.
func (db *DB) Disconnect(ctx context.Context) error {
	if db.dialect.leave != nil {
		db.dialect.leave(ctx)
	}
	return errors.Join(db.write.Close(), db.read.Close())
}

// Start starts the writers. Close stops them.
func (db *DB) Start(ctx context.Context, place string) {
	last := context.WithoutCancel(ctx)
	db.lifetime.leave = func() error { return db.leave(last) }
	ctx, db.lifetime.stop = context.WithCancel(last)
	db.queues.open(db.dialect, queueLength)
	for _, lane := range db.queues.lanes {
		db.serve(ctx, lane, db.dialect.callSettings)
	}
	for range db.dialect.others {
		db.serve(ctx, db.queues.others, "")
	}
	for range db.dialect.groups {
		db.serve(ctx, db.queues.groups, "")
	}
	if db.dialect.listen != nil {
		db.lifetime.work.Go(func() { db.dialect.listen(ctx, place, db.changes.raise) })
	}
	db.lifetime.started = true
}

// serve starts a writer for a queue. settings is SQL that prepares the writer's connection.
func (db *DB) serve(ctx context.Context, lane chan *op, settings string) {
	w := &Writer{db: db, lane: lane, settings: settings, witness: db.addWitness()}
	db.lifetime.work.Go(func() { w.run(context.WithoutCancel(ctx)) })
}

// ErrLeft means that a database was closed before all changes in the journal were written into the tables.
var ErrLeft = errors.New("the last charges are only in the journal: the next process that opens the database writes them into the tables")

// Close waits for the queued operations, and rejects new ones with store.ErrUnavailable. The error wraps ErrLeft if the last charges could
// not be written into their tables; even then, no charge is lost. A second call does nothing.
func (db *DB) Close() error {
	db.lifetime.closing.Lock()
	if db.lifetime.closed {
		db.lifetime.closing.Unlock()
		return nil
	}
	db.lifetime.closed = true
	db.queues.close()
	db.lifetime.closing.Unlock()
	close(db.lifetime.ending)
	db.lifetime.stop()
	db.lifetime.work.Wait()
	db.links.release()
	return errors.Join(db.lifetime.leave(), db.read.Close(), db.write.Close())
}

// leave writes the state that the next process needs, after all writers have ended.
func (db *DB) leave(ctx context.Context) error {
	db.times(ctx)
	err := db.CatchUpAlone(ctx)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrLeft, err)
	}
	return errors.Join(err, db.writeLastNotes(ctx))
}

// CatchUpAlone is like CatchUp, but must be called while no writer is running: before the writers start, or after they have ended.
func (db *DB) CatchUpAlone(ctx context.Context) error {
	if db.Layer == nil || db.dialect.Sharing != Exclusive {
		return nil
	}
	pending, err := db.Layer.Pending(ctx)
	if err != nil || !pending {
		return err
	}
	return db.Alone(ctx, nothing)
}

// writeLastNotes writes pending notes after all writers have ended. The pool may contain connections that ended when the server restarted,
// so writeLastNotes tries each of them once, and then a new one. A note may be written twice.
func (db *DB) writeLastNotes(ctx context.Context) error {
	rows := db.notes.Rows()
	if len(rows) == 0 {
		return nil
	}
	for tries := db.write.Stats().OpenConnections; ; tries-- {
		err := db.alone(ctx, aside, func(ctx context.Context, t *Tx) error { return t.Note(ctx, rows) })
		if tries == 0 || !db.dialect.Lost(err) {
			return err
		}
	}
}
