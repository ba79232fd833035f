// Package engine runs transactions on an SQL database: SQLite with a write-ahead log that is flushed at every commit, or PostgreSQL,
// which several processes may share. It knows no records, only how they are read and written.
//
// Writers queue their operations. A goroutine takes all that are waiting, reads what they need, runs them one after another, writes all
// their changes, commits once and answers all of them. So an answer means "durable", two queries and one disk flush serve many callers,
// and an operation that fails takes nothing and has no effect on the others. Readers have connections of their own.
package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Options of New.
type Options struct {
	// Now is the process's clock. Required.
	Now func() time.Time
	// Elapsed is a clock that only moves forward. Required.
	Elapsed func() time.Duration
	// Stepped is called when the clock of a PostgreSQL server was set, with by how much; below zero it was set back. May be nil.
	Stepped func(by time.Duration)
	// SetBack is called when a PostgreSQL database lacks commits that this process has acknowledged, with how many at least. May be nil.
	SetBack func(missing int64)
	// Moved is called when a PostgreSQL database has another server, or another timeline, than before. May be nil.
	Moved func()
}

// readers is how many connections read, at most.
const readers = 4

// A Layer lies between calls and their tables: what calls changed may not be in the tables yet. An Exclusive database calls it in its
// transactions, one after another, but for Pending.
type Layer interface {
	// Forget drops what is known of the database: another connection has written to it, or a transaction failed.
	Forget()
	// CatchUp writes into the tables what they lack, in a transaction that may read and change them.
	CatchUp(ctx context.Context, t *Tx) error
	// Behind reports whether the tables may lack something.
	Behind() bool
	// Pending reads whether the tables lack something. It may be called at any time.
	Pending(ctx context.Context) (bool, error)
}

// A DB is one database. It is safe for concurrent use once it is started.
type DB struct {
	dialect *Dialect
	opts    Options
	write   *sql.DB
	read    *sql.DB

	// Restore records in a transaction that the state was set back to an earlier one. Required before Connect.
	Restore func(ctx context.Context, t *Tx) error
	// Layer may be nil.
	Layer Layer

	queues  queues
	life    life
	clocks  clocks
	notes   notes
	server  serverWatch
	commits commits
	changes signal
	floor   atomic.Int64 // when the database was last set back to an earlier state; 0: never
}

// The life of a database, from its start to its end.
type life struct {
	closing sync.RWMutex // held for reading while an op is queued
	closed  bool
	started bool
	ending  chan struct{}
	work    sync.WaitGroup // writers, and what Go runs
	stop    context.CancelFunc
}

// New returns a database that is not connected yet.
func New(d *Dialect, opts Options) *DB {
	return &DB{
		dialect: d, opts: opts, clocks: clocks{clock: clock{local: opts.Now}, elapsed: opts.Elapsed}, life: life{ending: make(chan struct{})},
	}
}

// Connect opens the connections of a database.
func (db *DB) Connect(ctx context.Context, place string) (err error) {
	db.write, db.read, err = db.dialect.Open(ctx, place)
	return err
}

// ReadOnly makes a database of connections that only read, which the caller closes.
func ReadOnly(d *Dialect, read *sql.DB) *DB { return &DB{dialect: d, read: read} }

// Upgrade runs a migration while no other process does.
func (db *DB) Upgrade(ctx context.Context, place string, migrate Migration) error {
	if db.dialect.upgrade == nil {
		return migrate(ctx, db.write, func(context.Context) error { return nil })
	}
	return db.dialect.upgrade(ctx, place, migrate)
}

// ReadState reads what the processes before left about clocks, servers and restores.
func (db *DB) ReadState(ctx context.Context) error {
	if _, err := db.Newest(ctx); err != nil { // which also reads the clock
		return err
	}
	if err := db.ReadFloor(ctx); err != nil {
		return err
	}
	db.commits.lastSetBack.Store(nil) // what was before this process
	if db.dialect.Clock == "" {
		return nil
	}
	if err := db.readStep(ctx); err != nil {
		return err
	}
	return db.readServer(ctx)
}

// Disconnect closes the connections of a database that was not started.
func (db *DB) Disconnect(ctx context.Context) error {
	if db.dialect.leave != nil {
		db.dialect.leave(ctx)
	}
	return errors.Join(db.write.Close(), db.read.Close())
}

// Start starts the writers. They end with Close.
func (db *DB) Start(ctx context.Context, place string) {
	ctx, db.life.stop = context.WithCancel(context.WithoutCancel(ctx))
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
		db.life.work.Go(func() { db.dialect.listen(ctx, place, db.changes.raise) })
	}
	db.life.started = true
}

// serve starts the writer of a queue. settings prepare its connections.
func (db *DB) serve(ctx context.Context, lane chan *op, settings string) {
	w := &Writer{db: db, lane: lane, settings: settings, witness: db.addWitness()}
	db.life.work.Go(func() { w.run(context.WithoutCancel(ctx)) })
}

// Go runs background work that Close waits for, and reports whether the database is open.
func (db *DB) Go(work func()) bool {
	db.life.closing.RLock()
	defer db.life.closing.RUnlock()
	if db.life.closed || !db.life.started {
		return false
	}
	db.life.work.Go(work)
	return true
}

// Ending is closed when the database is about to close.
func (db *DB) Ending() <-chan struct{} { return db.life.ending }

// ErrLeft means that a database was closed before the tables had what the journal has.
var ErrLeft = errors.New("the last charges are in the journal only: whoever opens the database next writes them into the tables")

// Close waits for the queued operations, and rejects new ones with store.ErrUnavailable. The error also tells where the last charges
// could not be written into their tables; nothing is lost then.
func (db *DB) Close() error {
	db.life.closing.Lock()
	if db.life.closed {
		db.life.closing.Unlock()
		return nil
	}
	db.life.closed = true
	db.queues.close()
	db.life.closing.Unlock()
	close(db.life.ending)
	db.life.stop()
	db.life.work.Wait()
	ctx := context.Background()
	db.times(ctx)
	err := db.CatchUpAlone(ctx)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrLeft, err)
	}
	return errors.Join(err, db.writeLastNotes(ctx), db.read.Close(), db.write.Close())
}

// Sharing returns who may write to the database.
func (db *DB) Sharing() Sharing { return db.dialect.Sharing }

// Dialect returns the dialect of the database.
func (db *DB) Dialect() *Dialect { return db.dialect }

// CatchUp waits until the tables have everything that was committed before.
func (db *DB) CatchUp(ctx context.Context) error {
	if db.Layer == nil || db.dialect.Sharing != Exclusive || len(db.queues.lanes) == 0 {
		return nil
	}
	pending, err := db.Layer.Pending(ctx)
	if err == nil && pending {
		err = db.Update(ctx, nothing)
	}
	return err
}

// CatchUpAlone is CatchUp while no writer is at work: it writes what a process before left, and what this one leaves.
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

// Alone runs one operation in a transaction while no writer is at work.
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

// nothing is an operation that only has what is pending written.
func nothing(context.Context, *Tx) error { return nil }

// Changed returns a channel that is closed when this process next commits something that others have to read, or hears of one.
func (db *DB) Changed() <-chan struct{} { return db.changes.next() }

// A signal wakes any number of waiters.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
