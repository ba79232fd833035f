package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/internal/clock"
)

// Options are the options of New.
type Options struct {
	// Now is the wall clock of the process. Required.
	Now func() time.Time
	// Elapsed is a monotonic clock. Required.
	Elapsed func() time.Duration
	// Stepped is called with the difference when the clock of a PostgreSQL server has been set; the difference is negative if the clock was
	// set back. It may be nil.
	Stepped func(by time.Duration)
	// SetBack is called when a PostgreSQL database lacks commits that it acknowledged to this process, with the minimum number of such
	// commits. It may be nil.
	SetBack func(missing int64)
	// ServerChanged is called when a PostgreSQL database is found on a different server or timeline than before. It may be nil.
	ServerChanged func()
}

// A Layer holds changes of calls that are not in the tables yet. An Exclusive database calls its methods within transactions, one after
// another; only Pending may be called at any time.
type Layer interface {
	// Forget drops the state in memory. It is called when another connection has written to the database, or when a transaction has failed.
	Forget()
	// CatchUp writes the pending changes into the tables, at the start of a transaction that may read and change the tables.
	CatchUp(ctx context.Context, t *Tx) error
	// Behind reports whether changes may be pending.
	Behind() bool
	// Pending reads from the database whether changes are pending. It may be called at any time.
	Pending(ctx context.Context) (bool, error)
}

// readers is the maximum number of connections for reading.
const readers = 4

// A DB is a database with its readers and writers. It is safe for concurrent use once it is started.
type DB struct {
	dialect *Dialect
	opts    Options
	write   *sql.DB
	read    *sql.DB

	// Restore adapts the records, inside the transaction t, after the state was restored to an earlier one. It returns the time at which the
	// newest agent was created. It must be set before Connect.
	Restore func(ctx context.Context, t *Tx, l store.RestoredLimits) (agents int64)
	// Layer may be nil.
	Layer Layer

	queues   queues
	links    links
	prepared readQueries
	lifetime lifetime
	clocks   clocks
	notes    clock.Notes
	server   serverWatch
	commits  commits
	changes  signal
	restored atomic.Pointer[Rewind] // nil: not read yet
}

// New returns a database that is not connected yet.
func New(d *Dialect, opts Options) *DB {
	return &DB{
		dialect: d, opts: opts, clocks: clocks{clock: clock.Source{Local: opts.Now}, elapsed: opts.Elapsed},
		lifetime: lifetime{ending: make(chan struct{})},
	}
}

// ReadOnly returns a database that reads through the given connections. The caller must close them.
func ReadOnly(d *Dialect, read *sql.DB) *DB { return &DB{dialect: d, read: read} }

// Sharing returns who may write to the database.
func (db *DB) Sharing() ShareMode { return db.dialect.Sharing }

// Dialect returns the dialect of the database.
func (db *DB) Dialect() *Dialect { return db.dialect }

// Note sets rows of the sequences table for later processes. The rows are written at the next reading of a clock, or by Close at the
// latest.
func (db *DB) Note(rows map[string]int64) { db.notes.Set(rows) }

// lifetime is the state of a database between Start and Close.
type lifetime struct {
	closing sync.RWMutex // held for reading while an op is queued
	closed  bool
	started bool
	leave   func() error // writes the state that the next process needs
	ending  chan struct{}
	work    sync.WaitGroup // the goroutines: the writers, and those that DB.Go starts
	stop    context.CancelFunc
}

// queues are the queues of the writers.
type queues struct {
	lanes  []chan *op // calls, by agent
	others chan *op   // all other operations; the first lane if there is only one writer
	groups chan *op   // operations of groups; the first lane if there is only one writer
	seed   maphash.Seed
}

// clocks are the clocks of a database.
type clocks struct {
	clock   clock.Source
	elapsed func() time.Duration
	anchor  *clock.Anchor // the clock for limits; nil: it is the clock of the database
	steps   clock.Steps
	pace    clock.Pace
}

// A Tx is one transaction. The operations of a batch share it, and run one after another. A statement has ? for each argument, and FOR
// UPDATE if it reads a row that is going to be changed.
type Tx struct {
	w       *Writer
	scope   scope
	locking LockMode
	times   times
	seen    observation
	op      runState
	closing []Command // run after all other statements
	after   []func()  // run after the commit
	changed bool      // other processes must read the changes
	// confirms means that all commits that the transaction has read must be on the synchronous standbys before it ends; see Confirm.
	confirms bool
	ending   commitRule
}

// scope is the part of the database that the statements of a transaction may touch.
type scope int

const (
	everything scope = iota
	besideCalls
)

// LockMode defines the rows that a transaction locks between reading and writing.
type LockMode int

const (
	// Pessimistic transactions lock the rows that they read and are going to change.
	Pessimistic LockMode = iota
	// Optimistic transactions lock nothing when they read. They send all their changes in one round trip, and each change takes effect only if
	// the row is still as it was read.
	Optimistic
)

// times are the times of a transaction.
type times struct {
	now         time.Time // the time of the whole transaction
	counted     time.Time // by the clock for limits
	requestedAt time.Time // when the process requested these times, by its own clock
}

// An observation holds the values that a transaction has read about its witness, restores and the server.
type observation struct {
	witnessed     int64
	testified     bool  // the transaction increments its witness
	floor         int64 // when the database was last restored
	serverChanged bool  // recently: calls are refused; see serverChangePause
	replicated    bool  // commits wait for synchronous standbys
}

// runState is the state of the running operation.
type runState struct {
	shared    bool // several operations share the transaction
	savepoint bool
	undone    bool // an operation failed
	undo      []func()
	err       error // the first error of a statement that returns none: see Tx.Run
	fatal     error // why the transaction cannot continue
}

// A commitRule determines whether a transaction is committed.
type commitRule int

const (
	whenWritten commitRule = iota // if it has written something
	always
	never
)

// A kind determines how operations run. Only operations of the same kind share a transaction.
type kind interface {
	// patience is the time limit of one attempt at a transaction; 0 means that the database has its own limit.
	patience(d *Dialect) time.Duration
	// shared reports whether operations of this kind share transactions.
	shared(d *Dialect) bool
	// begin returns the work of a transaction that runs a batch. n is the number of the attempt, counted from 1.
	begin(t *Tx, batch []*op, n int) work
}

// A work has the steps of one transaction.
type work interface {
	// read returns the statements that read the rows that the operations need. They are sent before the clock is read.
	read(ctx context.Context) ([]Command, error)
	// run runs a batch, without its abandoned operations. An error ends the transaction.
	run(ctx context.Context, batch []*op) error
	// write returns the statements that write the changes of the operations.
	write(ctx context.Context) ([]Command, error)
}

// An op is an operation in the queue of a writer.
type op struct {
	kind  kind
	item  any // the operation, if run is nil
	bytes int // approximate size of its writes, in a group
	// run is the operation, unless it is an item. If the transaction is retried, run is called again, so it must set all its results each
	// time.
	run   func(context.Context, *Tx) error
	state atomic.Int32
	err   error
	done  chan struct{}
}

// The states of an op. The goroutine that changes the state from opQueued decides whether the op runs.
const (
	opQueued int32 = iota
	opRunning
	opAbandoned
)

// A Writer runs queued operations in transactions, one at a time, on one connection.
type Writer struct {
	db   *DB
	lane chan *op
	next *op // already taken from the lane
	link
	settings string              // SQL that prepares the connection; may be empty
	values   []driver.NamedValue // the arguments of the last direct statement
	version  int64               // the version of an Exclusive database: see selectVersion
	last     batchOf
	late     *time.Timer // fires when pending changes must be written; nil: none are pending
	witness  *witness    // nil if its transactions are not counted
}

// batchOf describes the previous batch of a writer.
type batchOf struct {
	size int
	took time.Duration
}

// A server identifies the server of a PostgreSQL database and its timeline. If one of them changes, a standby was promoted or the database
// was restored, and commits may be missing.
type server struct{ system, timeline int64 }

// serverWatch tracks which server the database is on.
type serverWatch struct {
	is              atomic.Pointer[server] // nil if unknown
	serverChanged   atomic.Bool
	serverChangedAt atomic.Int64 // by the monotonic clock; 0 if never
}

// A witness is a row of the sequences table that every transaction of one writer increments. If a copy, or a standby that did not receive
// every commit, replaces the server of the database, the row can be missing or too low: below the value that the process has acknowledged.
// Each transaction checks its row before its operations run, and each poll of Changes checks the rows of all writers.
type witness struct {
	name  string
	acked atomic.Int64 // the row has at least this value, unless commits were lost
}

// commits tracks which commits a process has acknowledged.
type commits struct {
	process       string // prefix of the names of its witnesses
	witnesses     []*witness
	settingBack   sync.Mutex
	lastSetBack   atomic.Pointer[store.SetBack]
	verifiedFloor atomic.Int64 // the floor at the last check that found no commit missing
}
