// Package sqlstore keeps the state of uimgate in an SQL database: execution records, limits, charges, nonces (package
// store), agreements, tokens and revocations (package pat). It is the only package that knows the databases; sqlmail
// keeps what a relay has by the transactions of this one.
//
//	s, err := sqlstore.Open(ctx, filepath.Join(data, "state.db"), sqlstore.Options{Now: time.Now})
//	defer s.Close()
//	begun, err := s.Begin(ctx, request)
//
// The database is SQLite with a write-ahead log that is flushed at every commit, or PostgreSQL, which several processes
// may share. Writers queue their operations; a goroutine takes all that are waiting, reads what these calls need, runs
// them one after another, writes all their changes, commits once and answers all of them. So an answer means "durable",
// two queries and one disk flush serve many callers, and an operation that fails takes nothing and has no effect on the
// others. What calls change in SQLite is one row of a journal first, and in its tables a second later or before anything
// reads them. Readers have connections of their own, and wait for writers no longer than that takes.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/internal/journal"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

var (
	_ pat.IssuerStore = (*Store)(nil)
	_ pat.KeyStore    = (*Store)(nil)
	_ pat.ViewStore   = (*Store)(nil)
)

// Options of Open.
type Options struct {
	// Now is the process's clock. An SQLite database uses it too, but counts limits and measures deadlines by Elapsed from when
	// it was opened; PostgreSQL has its own. Required.
	Now func() time.Time
	// TokensKept is how long the record of a token is kept after its expiry: at least the renew grace and the leeway. The
	// minimum is leastTokensKept.
	TokensKept time.Duration
	// Elapsed is a clock that only moves forward. Default: the time between two values of Now, by their monotonic readings.
	Elapsed func() time.Duration
	// Stepped is told when the clock of a PostgreSQL server was set, and by how much; below zero it was set back. Limits
	// are then held back, each for up to its period. May be nil; it must be quick.
	Stepped func(by time.Duration)
	// Services are those of the configuration. Opening compares them with those in the database, and carries the state of those that
	// have another id now over to that: see store.ServicesError. nil: they are not compared.
	Services *store.Services
	// SetBack is called when a PostgreSQL database lacks commits that this process has acknowledged, with how many at least: a standby
	// was promoted that did not have them, or a copy took its place. It is then as after MarkRestored. May be nil; it must be quick.
	SetBack func(missing int64)
	// Moved is called when a PostgreSQL database has another server, or another timeline, than before. May be nil; it must be quick.
	Moved func()
}

const (
	queueLength = 16 << 10 // writes that may wait: a burst of ten thousand calls is decided, not refused with store.ErrUnavailable
	batchSize   = 256      // writes that share one transaction, at most
	readers     = 4        // connections that read, at most

	leastTokensKept = 24 * time.Hour
	unusedKept      = 30 * 24 * time.Hour // of an agreement without any call
)

// A Store is one open database. It is safe for concurrent use.
type Store struct {
	dialect *dialect
	opts    Options
	write   *sql.DB
	read    *sql.DB

	lanes   []chan *op // calls, by agent
	others  chan *op   // everything else; the first lane where there is only one writer
	groups  chan *op   // operations of groups; the first lane where there is only one writer
	seed    maphash.Seed
	work    sync.WaitGroup // writers, and the listener
	stop    func() error   // ends that work, and writes what is left in the journal
	closing sync.RWMutex   // held for reading while an op is queued
	closed  bool

	ending     chan struct{}
	clock      clock
	pace       pace
	elapsed    func() time.Duration
	anchor     *anchor // limits are counted on it; nil: on the database's clock
	clockSteps stepWatch
	notes      notes

	server  atomic.Pointer[server] // nil: it is not known
	moved   atomic.Bool
	movedAt atomic.Int64 // on the clock that only moves forward; 0: never

	process       string // in the names of its witnesses
	witnesses     []*witness
	settingBack   sync.Mutex
	lastSetBack   atomic.Pointer[store.SetBack]
	verifiedFloor atomic.Int64 // the floor when all witnesses were last as they should be
	changesFloor  atomic.Int64 // the floor at the last Changes
	releases      releaseQueue
	room          answerRoom
	nonceRoom     int          // how many nonces may be used at a time, where they are known in memory
	used          *recent      // agreements that have used_at set
	floor         atomic.Int64 // when the database was last set back to an earlier state; 0: never
	kept          atomic.Int64 // see KeepLedger
	changes       signal

	moves         int64                  // how many times a service had been moved when the database was opened
	noncesAs      map[string]string      // the id in the digests of nonces, by service; others: its own
	servicesFound []store.ServiceProblem // warnings of the opening
}

// Open opens the database at a place, and migrates its schema. A place is the path of an SQLite file, which is made
// (mode 0600) if it does not exist, or the postgres:// URL of a database. A database that only a newer version of uimgate can
// use is rejected, and so is a PostgreSQL server that does not keep what it committed. ErrInUse means that other processes use
// the database, which they could not after the migration. Close it when done; ctx bounds the opening only.
func Open(ctx context.Context, place string, opts Options) (*Store, error) {
	if isPostgres(place) {
		return open(ctx, place, opts, postgresDialect())
	}
	return open(ctx, place, opts, sqliteDialect())
}

func open(ctx context.Context, place string, opts Options, d *dialect) (*Store, error) {
	if opts.Now == nil {
		return nil, errors.New("opening the store: Options.Now is required")
	}
	opts.TokensKept = max(opts.TokensKept, leastTokensKept)
	if opts.Elapsed == nil {
		start := opts.Now()
		opts.Elapsed = func() time.Duration { return opts.Now().Sub(start) }
	}
	s := newStore(opts, d)
	if err := s.open(ctx, place); err != nil {
		code := sqliteCode(err)
		if code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB || errors.Is(err, journal.ErrDamaged) ||
			errors.Is(err, errMisfit) {
			err = fmt.Errorf("%w: uimgate restore takes the state back to a backup: %w", ErrDamaged, err)
		}
		if sqlState(err) == insufficientPrivilege {
			err = fmt.Errorf("%w: %s", err, privilegeHint)
		}
		return nil, fmt.Errorf("opening the database %s: %w", publicPlace(place), err)
	}
	s.start(context.WithoutCancel(ctx), place)
	return s, nil
}

// newStore returns a store that has no database yet. Its options are whole.
func newStore(opts Options, d *dialect) *Store {
	s := &Store{
		dialect: d, opts: opts, clock: clock{local: opts.Now}, elapsed: opts.Elapsed,
		room: answerRoom{store.MaxAnswersOfAgent, store.MaxAnswers}, nonceRoom: mostNonces,
	}
	s.KeepLedger(math.MaxInt64)
	return s
}

func (s *Store) open(ctx context.Context, place string) (err error) {
	if s.write, s.read, err = s.dialect.open(ctx, place); err != nil {
		return err
	}
	// A migration finds in the tables what the journal has. Where that cannot be written, the version that left it can still be started.
	before := func(ctx context.Context, version int64) error {
		if version < schema.Journal {
			return nil
		}
		return s.catchUp(ctx)
	}
	upgrade := func(ctx context.Context, db *sql.DB, alone func(context.Context) error) error {
		err := schema.Migrate(ctx, db, schema.Options{Dialect: s.dialect.goose, Rewrite: s.dialect.schema, Before: before, Alone: alone})
		if err != nil || s.opts.Services == nil {
			return err
		}
		return s.claimServices(ctx, db, alone)
	}
	if s.dialect.upgrade == nil {
		err = upgrade(ctx, s.write, func(context.Context) error { return nil })
	} else {
		err = s.dialect.upgrade(ctx, place, upgrade)
	}
	if err == nil {
		err = s.readMoves(ctx)
	}
	if err == nil {
		_, err = s.newest(ctx) // which also reads the clock
	}
	if err == nil {
		err = s.readFloor(ctx)
		s.changesFloor.Store(s.floor.Load())
		s.lastSetBack.Store(nil) // what was before this process
	}
	if err == nil && s.dialect.clock != "" {
		err = s.readStep(ctx)
	}
	if err == nil {
		err = s.readServer(ctx)
	}
	if err == nil && s.dialect.anchored {
		err = s.startAnchor(ctx)
	}
	if err != nil {
		if s.dialect.leave != nil {
			s.dialect.leave(ctx)
		}
		return errors.Join(err, s.write.Close(), s.read.Close())
	}
	return nil
}

// errLeft means that a store was closed before the tables had what the journal has.
var errLeft = errors.New("the last charges are in the journal only: whoever opens the database next writes them into the tables")

// catchUp writes what is in the journal into the tables, while no writer is at work: what a process before left, and what this one leaves.
func (s *Store) catchUp(ctx context.Context) error {
	if !s.dialect.sole {
		return nil
	}
	pending, err := s.one(ctx, selectRecord, nil, new(int64))
	if err != nil || !pending {
		return err
	}
	w := &writer{s: s}
	defer w.drop()
	_, err = w.try(ctx, []*op{{run: nothing}}, 1)
	return err
}

// start starts the writers. They end with Close.
func (s *Store) start(ctx context.Context, place string) {
	s.used, s.seed, s.ending = newRecent(1<<15), maphash.MakeSeed(), make(chan struct{})
	background := ctx
	ctx, cancel := context.WithCancel(ctx)
	s.stop = func() error {
		cancel()
		s.work.Wait()
		s.times(background)
		err := s.catchUp(background)
		if err != nil {
			err = fmt.Errorf("%w: %w", errLeft, err)
		}
		return errors.Join(err, s.writeLastNotes(background))
	}
	for range s.dialect.lanes {
		lane := make(chan *op, queueLength)
		s.lanes = append(s.lanes, lane)
		s.serve(ctx, lane, s.dialect.callSettings)
	}
	if s.others = s.lanes[0]; s.dialect.others > 0 {
		s.others = make(chan *op, queueLength)
	}
	for range s.dialect.others {
		s.serve(ctx, s.others, "")
	}
	if s.groups = s.lanes[0]; s.dialect.groups > 0 {
		s.groups = make(chan *op, queueLength)
	}
	for range s.dialect.groups {
		s.serve(ctx, s.groups, "")
	}
	if s.dialect.listen != nil {
		s.work.Go(func() { s.dialect.listen(ctx, place, s.changes.raise) })
	}
}

// serve starts the writer of a queue. settings prepare its connections.
func (s *Store) serve(ctx context.Context, lane chan *op, settings string) {
	w := &writer{s: s, lane: lane, settings: settings, witness: s.addWitness()}
	s.work.Go(func() { w.run(context.WithoutCancel(ctx)) })
}

// Now returns the time of the store's clock, on which tokens and revocations expire: that of the database where several
// processes share it, from the last reading and the time since. Times that are compared with those of other processes must be
// read from it. Limits and deadlines have the clock of Counted.
func (s *Store) Now() time.Time { return s.clock.now() }

// now returns the time of the store's clock in the form in which it is stored.
func (s *Store) now() time.Time { return s.Now().UTC().Round(0) }

// Changed returns a channel that is closed when this process next commits something that Changes returns. Get the
// channel, then call Changes, then wait: nothing is missed. Changes of other processes close it only where the database
// sends notifications; do not rely on it.
func (s *Store) Changed() <-chan struct{} { return s.changes.next() }

// Ready writes one row, and what calls have changed into their tables: where that does not fit them the error says so. A full disk on
// which only the row can be written is no error, as much goes on there. It takes at most two seconds, less where ctx ends sooner.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := s.aside(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, "UPDATE sequences SET n = n + 1 WHERE name = 'ready'")
		return err
	})
	if err != nil {
		return err
	}
	if err := s.caughtUp(ctx); sqliteCode(err) != sqlite3.SQLITE_FULL {
		return err
	}
	return nil
}

// Close waits for the queued writes, and rejects new ones with store.ErrUnavailable. The error also tells where the last charges could
// not be written into their tables; nothing is lost then.
func (s *Store) Close() error {
	s.closing.Lock()
	if s.closed {
		s.closing.Unlock()
		return nil
	}
	s.closed = true
	for _, lane := range s.lanes {
		close(lane)
	}
	if s.dialect.others > 0 {
		close(s.others)
	}
	if s.dialect.groups > 0 {
		close(s.groups)
	}
	s.closing.Unlock()
	close(s.ending)
	return errors.Join(s.stop(), s.read.Close(), s.write.Close())
}

// unavailable wraps an error of the database in store.ErrUnavailable; the caller has to deny.
func unavailable(cause error) error {
	if errors.Is(cause, store.ErrUnavailable) {
		return cause
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, cause)
}

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
