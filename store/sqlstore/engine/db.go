package engine

import (
	"context"
	"database/sql"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/store"
)

// Options of New.
type Options struct {
	// Now is the process's clock. Required.
	Now func() time.Time
	// Elapsed is a clock that only moves forward. Required.
	Elapsed func() time.Duration
	// Stepped is called when the clock of a PostgreSQL server was set, with the difference; below zero it was set back. May be nil.
	Stepped func(by time.Duration)
	// SetBack is called when a PostgreSQL database lacks acknowledged commits of this process, with their minimum number. May be nil.
	SetBack func(missing int64)
	// ServerChanged is called when a PostgreSQL database has another server, or another timeline, than before. May be nil.
	ServerChanged func()
}

// A Layer lies between calls and their tables: changes of calls may not be in the tables yet. An Exclusive database calls it in its
// transactions, one after another, except Pending.
type Layer interface {
	// Forget drops the state in memory: another connection has written to the database, or a transaction failed.
	Forget()
	// CatchUp writes into the tables what they lack, in a transaction that may read and change them.
	CatchUp(ctx context.Context, t *Tx) error
	// Behind reports whether the tables may lack something.
	Behind() bool
	// Pending reads whether the tables lack something. It may be called at any time.
	Pending(ctx context.Context) (bool, error)
}

// readers is how many connections read, at most.
const readers = 4

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

	queues   queues
	lifetime lifetime
	clocks   clocks
	notes    notes
	server   serverWatch
	commits  commits
	changes  signal
	floor    atomic.Int64 // when the database was last set back to an earlier state; 0: never
}

// New returns a database that is not connected yet.
func New(d *Dialect, opts Options) *DB {
	return &DB{
		dialect: d, opts: opts, clocks: clocks{clock: clock{local: opts.Now}, elapsed: opts.Elapsed},
		lifetime: lifetime{ending: make(chan struct{})},
	}
}

// ReadOnly makes a database of connections that only read, which the caller closes.
func ReadOnly(d *Dialect, read *sql.DB) *DB { return &DB{dialect: d, read: read} }

// Sharing returns who may write to the database.
func (db *DB) Sharing() ShareMode { return db.dialect.Sharing }

// Dialect returns the dialect of the database.
func (db *DB) Dialect() *Dialect { return db.dialect }

// Note leaves rows of the table sequences to later processes. They are written at the next reading of a clock, and at the latest by
// Close.
func (db *DB) Note(rows map[string]int64) { db.notes.set(rows) }

// The lifetime of a database, from its start to its end.
type lifetime struct {
	closing sync.RWMutex // held for reading while an op is queued
	closed  bool
	started bool
	leave   func() error // writes what the next process must find
	ending  chan struct{}
	work    sync.WaitGroup // writers, and what Go runs
	stop    context.CancelFunc
}

// queues are those of the writers.
type queues struct {
	lanes  []chan *op // calls, by agent
	others chan *op   // all other operations; the first lane if there is only one writer
	groups chan *op   // operations of groups; the first lane where there is only one writer
	seed   maphash.Seed
}

// clocks are those that a database is used by.
type clocks struct {
	clock   clock
	elapsed func() time.Duration
	anchor  *anchor // limits are counted on it; nil: on the database's clock
	steps   stepWatch
	pace    pace
}

// A Tx is one transaction, shared by the operations of a batch, which run one after another. Statements are written with ? for each
// argument, and FOR UPDATE if a row is read in order to be changed.
type Tx struct {
	w       *Writer
	scope   scope
	locking LockMode
	times   times
	seen    seen
	op      runState
	closing []Command // to be run after all others
	after   []func()  // once it is committed
	changed bool      // something that others must read
	ending  commitRule
}

// scope is what the statements of a transaction may touch.
type scope int

const (
	everything scope = iota
	besideCalls
)

// LockMode is what a transaction locks between reading and writing.
type LockMode int

const (
	// Pessimistic transactions lock what they read in order to change it.
	Pessimistic LockMode = iota
	// Optimistic transactions lock nothing. They send their changes in one round trip, which is the whole transaction. Each change is
	// conditional on the row being as it was read.
	Optimistic
)

// times are those of a transaction.
type times struct {
	now         time.Time // of the whole transaction
	counted     time.Time // on the clock on which limits are counted
	requestedAt time.Time // when the process requested that, on its own clock
}

// seen is what a transaction has read of its witness, and of restores.
type seen struct {
	witnessed     int64
	testified     bool  // it is counted up
	floor         int64 // when the database was last set back
	serverChanged bool  // to another server: it admits no calls yet; see movedPause
}

// runState is the state of the running operation.
type runState struct {
	shared    bool // the transaction, with others
	savepoint bool
	undone    bool // it failed
	undo      []func()
	fatal     error // the transaction cannot continue
}

// A commitRule is when a transaction is committed.
type commitRule int

const (
	whenWritten commitRule = iota // if it has written something
	always
	never
)

// A kind determines how its operations run. Those of one kind may share a transaction.
type kind interface {
	// patience bounds one attempt at a transaction; 0: the database bounds it.
	patience(d *Dialect) time.Duration
	// shared reports whether its operations share transactions.
	shared(d *Dialect) bool
	// begin returns the work of a transaction on some operations, for the n-th attempt, counted from 1.
	begin(t *Tx, batch []*op, n int) work
}

// A work is the steps of one transaction.
type work interface {
	// read returns the statements that read what the operations need. They are sent before the clock is read.
	read(ctx context.Context) ([]Command, error)
	// run runs those operations that were not abandoned. An error ends the transaction.
	run(ctx context.Context, batch []*op) error
	// write returns the statements that write what was changed.
	write(ctx context.Context) ([]Command, error)
}

// An op is one operation waiting to be written.
type op struct {
	kind  kind
	item  any // what the kind runs
	bytes int // that it writes, in a group
	// run runs an operation that is not an item. It may be called again if the transaction is repeated, so it sets all its results each
	// time.
	run   func(context.Context, *Tx) error
	state atomic.Int32
	err   error
	done  chan struct{}
}

// The state of an op. The goroutine that changes it from opQueued decides whether it runs.
const (
	opQueued int32 = iota
	opRunning
	opAbandoned
)

// A Writer owns one connection and runs queued operations in transactions.
type Writer struct {
	db       *DB
	lane     chan *op
	next     *op // already taken from the lane
	conn     *sql.Conn
	settings string // that prepare the connection; empty: there are none
	stmts    map[string]*sql.Stmt
	version  int64 // of an Exclusive database, because other connections have changed it
	last     batchOf
	late     *time.Timer // until pending changes are written into the tables; nil: there are none
	witness  *witness    // nil: its transactions are not counted
}

// batchOf is the previous batch of a writer.
type batchOf struct {
	size int
	took time.Duration
}

// A server is the server of a PostgreSQL database. Another one, or another timeline, means that a standby was promoted or that the
// database was restored: it may lack commits.
type server struct{ system, timeline int64 }

// serverWatch is a process's view of the servers of its database.
type serverWatch struct {
	is              atomic.Pointer[server] // nil: it is not known
	serverChanged   atomic.Bool
	serverChangedAt atomic.Int64 // on the clock that only moves forward; 0: never
}

// A witness is a row of the table sequences that every transaction of one writer increments. The server of a database may be replaced by
// a standby that did not receive everything, or by a copy: then the row is missing, or it is lower than the process has acknowledged.
// Each transaction reads it before it does anything, and each poll of Changes reads those of all writers.
type witness struct {
	name  string
	acked atomic.Int64 // the minimum value of the row, unless the database went back
}

// commits are the sequence numbers of the commits that a process has acknowledged.
type commits struct {
	process       string // in the names of its witnesses
	witnesses     []*witness
	settingBack   sync.Mutex
	lastSetBack   atomic.Pointer[store.SetBack]
	verifiedFloor atomic.Int64 // the floor when all witnesses were last correct
}
