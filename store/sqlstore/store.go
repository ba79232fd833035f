// Package sqlstore keeps the state of uimgate in an SQL database: execution records, limits, charges, nonces (package store), agreements,
// tokens and revocations (package pat). It is the only package that depends on the databases; sqlmail stores the data of a relay by the
// transactions of this package.
//
//	s, err := sqlstore.Open(ctx, filepath.Join(data, "state.db"), sqlstore.Options{Now: time.Now})
//	defer s.Close()
//	begun, err := s.Begin(ctx, request)
//
// This package combines its subpackages: engine runs transactions; calls begins and settles calls; ledger has accounts and entries;
// records has agreements and tokens; upkeep migrates, deletes and checks. In SQLite the changes of calls are first one row of a journal;
// a second later, or before they are read, they are written into their tables.
package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/journal"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
	"github.com/uimgate/uimgate/store/sqlstore/records"
	"github.com/uimgate/uimgate/store/sqlstore/upkeep"
)

// newJournal makes the journal of a database. Return nil to use none.
func newJournal(db *engine.DB) calls.Journal { return journal.New(db) }

// Options of Open.
type Options struct {
	// Now is the process's clock. An SQLite database uses it too, but counts limits and measures deadlines by Elapsed from when it was
	// opened; PostgreSQL has its own. Required.
	Now func() time.Time
	// TokensKept is how long the record of a token is kept after its expiry: at least the renew grace and the leeway. The
	// minimum is leastTokensKept.
	TokensKept time.Duration
	// Elapsed is a clock that only moves forward. Default: the time between two values of Now, by their monotonic readings.
	Elapsed func() time.Duration
	// Stepped is called when the clock of a PostgreSQL server was set, with the difference; below zero it was set back. Limits are then
	// held back, each for up to its period. May be nil; it must be fast.
	Stepped func(by time.Duration)
	// Services are those of the configuration. Open compares them with those in the database, and moves the state of services with a new
	// id to that id: see store.ServicesError. nil: they are not compared.
	Services *store.Services
	// SetBack is called when a PostgreSQL database lacks acknowledged commits of this process, with their minimum number: a standby was
	// promoted that did not have them, or a copy replaced it. The effect is that of MarkRestored. May be nil; it must be fast.
	SetBack func(missing int64)
	// ServerChanged is called when a PostgreSQL database has another server, or another timeline, than before. May be nil; it must be
	// fast.
	ServerChanged func()
}

const leastTokensKept = 24 * time.Hour

// Errors about databases.
var (
	// ErrNotOurs means that a file is not a database of uimgate.
	ErrNotOurs = engine.ErrNotOurs
	// ErrDamaged means that the parts of a database contradict each other.
	ErrDamaged = engine.ErrDamaged
	// ErrInUse means that another process has the database open.
	ErrInUse = engine.ErrInUse
)

// The parts of a Store, whose methods are its own.
type (
	callsRoom   = calls.Calls
	ledgerRoom  = ledger.Ledger
	recordsRoom = records.Records
	upkeepRoom  = upkeep.Upkeep
)

// A Store is one open database. It is safe for concurrent use.
type Store struct {
	*callsRoom
	*ledgerRoom
	*recordsRoom
	*upkeepRoom

	db *engine.DB
}

// Open opens the database at a place, and migrates its schema. A place is the path of an SQLite file, which is created (mode 0600) if it
// does not exist, or the postgres:// URL of a database. It rejects a database that only a newer version of uimgate can use, and a
// PostgreSQL server that does not keep what it committed. ErrInUse means that other processes use the database, which they could not
// after the migration. Close it when done; ctx bounds only the opening.
func Open(ctx context.Context, place string, opts Options) (*Store, error) {
	return open(ctx, place, opts, engine.DialectOf(place), newJournal)
}

func open(ctx context.Context, place string, opts Options, d *engine.Dialect, journal upkeep.NewJournal) (*Store, error) {
	s, err := connect(ctx, place, opts, d, journal)
	if err != nil {
		return nil, err
	}
	s.db.Start(ctx, place)
	return s, nil
}

// connect opens a store whose writers are not started.
func connect(ctx context.Context, place string, opts Options, d *engine.Dialect, newJournal upkeep.NewJournal) (*Store, error) {
	if opts.Now == nil {
		return nil, errors.New("opening the store: Options.Now is required")
	}
	opts.TokensKept = max(opts.TokensKept, leastTokensKept)
	if opts.Elapsed == nil {
		start := opts.Now()
		opts.Elapsed = func() time.Duration { return opts.Now().Sub(start) }
	}
	s := assemble(opts, d, newJournal)
	if err := s.connect(ctx, place); err != nil {
		code := engine.SQLiteCode(err)
		if code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB || errors.Is(err, ErrDamaged) || errors.Is(err, engine.ErrMisfit) {
			err = fmt.Errorf("%w: uimgate restore takes the state back to a backup: %w", ErrDamaged, err)
		}
		if engine.SQLState(err) == engine.InsufficientPrivilege {
			err = fmt.Errorf("%w: %s", err, engine.PrivilegeHint)
		}
		return nil, fmt.Errorf("opening the database %s: %w", engine.PublicPlace(place), err)
	}
	return s, nil
}

// assemble combines the parts of a store. Its options must be complete.
func assemble(opts Options, d *engine.Dialect, newJournal upkeep.NewJournal) *Store {
	db := engine.New(d, engine.Options{
		Now: opts.Now, Elapsed: opts.Elapsed, Stepped: opts.Stepped, SetBack: opts.SetBack, ServerChanged: opts.ServerChanged,
	})
	var journal calls.Journal
	if d.Sharing == engine.Exclusive {
		journal = newJournal(db)
	}
	c, l := calls.New(db, journal), ledger.New(db)
	return &Store{
		callsRoom: c, ledgerRoom: l, recordsRoom: records.New(db, c, l, opts.TokensKept),
		upkeepRoom: upkeep.New(db, c, journal, upkeep.Options{TokensKept: opts.TokensKept, Services: opts.Services}), db: db,
	}
}

func (s *Store) connect(ctx context.Context, place string) error {
	if err := s.db.Connect(ctx, place); err != nil {
		return err
	}
	err := s.db.Upgrade(ctx, place, s.Upgrade)
	for _, read := range []func(context.Context) error{s.db.ReadState, s.ReadMoves, s.ReadState, s.StartClock} {
		if err == nil {
			err = read(ctx)
		}
	}
	if err != nil {
		return errors.Join(err, s.db.Disconnect(ctx))
	}
	return nil
}

// Close waits for the queued writes, and rejects new ones with store.ErrUnavailable. The error also reports that the last charges could
// not be written into their tables; nothing is lost then.
func (s *Store) Close() error { return s.db.Close() }

// Contents counts the records of a database.
type Contents = upkeep.Contents

// Backup writes a snapshot of the SQLite database at path to the file to: see upkeep.Backup.
func Backup(ctx context.Context, path, to string) error { return upkeep.Backup(ctx, path, to) }

// Inspect checks that the SQLite database at path, which must not be in use, is complete: see upkeep.Inspect.
func Inspect(ctx context.Context, path string) (Contents, error) {
	return upkeep.Inspect(ctx, path, newJournal)
}

// Verify checks that the accounts of the database at a place (see Open), which may be in use, are the sums over its ledger: see
// upkeep.Verify.
func Verify(ctx context.Context, place string) (Contents, error) {
	return upkeep.Verify(ctx, place, newJournal)
}

// Fold writes the log beside the SQLite database at path back into it: see upkeep.Fold.
func Fold(ctx context.Context, path string) error { return upkeep.Fold(ctx, path) }

// Restore prepares the SQLite database at path, a copy of a backup that is not in use, to replace a lost one: it migrates the schema,
// checks that the accounts balance, and marks the state as restored. Then the file is the whole database, synced, without a log beside
// it.
func Restore(ctx context.Context, path string, opts Options) (Contents, error) {
	s, err := Open(ctx, path, opts)
	if err != nil {
		return Contents{}, err
	}
	found, err := s.Restored(ctx)
	if err = errors.Join(err, s.Close()); err != nil {
		return Contents{}, err
	}
	return found, Fold(ctx, path)
}

// CheckServices compares the services of a configuration with those in the database at a place: see upkeep.CheckServices.
func CheckServices(ctx context.Context, place string, want store.Services) ([]store.ServiceProblem, error) {
	return upkeep.CheckServices(ctx, place, want)
}

// ReadHolders is Store.Holders of the database at a place (see Open), which may be in use. It changes nothing. For a database of a
// version before services were recorded it returns nil.
func ReadHolders(ctx context.Context, place, service string, ids []pat.AgentID) (agents []pat.Agent, err error) {
	err = upkeep.ReadServices(ctx, place, func(db *engine.DB) error {
		agents, err = records.New(db, nil, nil, 0).Holders(ctx, service, ids)
		return err
	})
	return agents, err
}

// Types for other packages of store that keep data in the same database by separate transactions.
type (
	// A Tx is a transaction, as long as its Update runs.
	Tx = *engine.Tx
	// A Command is one of several statements that are sent together.
	Command = engine.Command
	// A Group is operations that share a transaction.
	Group[T any] = engine.Group[T]
)

// NewGroup makes a group whose operations run runs: see engine.NewGroup.
func NewGroup[T any](s *Store, run func(context.Context, Tx, []*T) error) *Group[T] {
	return engine.NewGroup(s.db, run)
}

// Update runs one operation inside the next transaction, and returns when that is durable. An error of the operation undoes all its
// changes, and is returned; others of the same transaction are not affected. It may run more than once, so it must set its results anew.
// If ctx ends before the operation runs, it does not run. It must not touch the tables that calls change.
func (s *Store) Update(ctx context.Context, run func(context.Context, Tx) error) error {
	return s.db.Aside(ctx, run)
}

// Rows reads outside of transactions: it waits for no writer, and sees what was committed.
func (s *Store) Rows(ctx context.Context, query string, args []any, each func(scan func(dest ...any) error) error) error {
	return s.db.List(ctx, query, args, each)
}

// RestoredAt returns when the state was last set back to an earlier one, for example by a backup; the zero time: never. See MarkRestored.
func (s *Store) RestoredAt() time.Time { return s.db.Floor() }

// Nanos converts a time to its stored form: nanoseconds since 1970 UTC, and 0 for the zero time.
func Nanos(t time.Time) int64 { return engine.Nanos(t) }

// FromNanos is the inverse of Nanos.
func FromNanos(n int64) time.Time { return engine.FromNanos(n) }
