// Package sqlstore stores the state of uimgate in an SQL database: execution records, limits, charges and nonces (package store), and
// agreements, tokens and revocations (package pat). Only this package and its subpackages depend on the database drivers. Package sqlmail
// stores the data of a relay through the transactions of this package.
//
//	s, err := sqlstore.Open(ctx, filepath.Join(data, "state.db"), sqlstore.Options{Now: time.Now})
//	defer s.Close()
//	begun, err := s.Begin(ctx, request)
//
// This package combines its subpackages. Package engine runs transactions. Package calls begins and settles calls. Package ledger keeps
// accounts and ledger entries, and package records keeps agents, agreements and tokens. Package upkeep migrates the schema, deletes old
// records and checks the state. In SQLite, the changes of calls are first written to a journal, as one row per transaction. Within about a
// second, or before the next read, they are written into their tables.
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
	"github.com/uimgate/uimgate/store/sqlstore/logs"
	"github.com/uimgate/uimgate/store/sqlstore/records"
	"github.com/uimgate/uimgate/store/sqlstore/upkeep"
)

// newJournal returns the journal of a database.
func newJournal(db *engine.DB) calls.Journal { return journal.New(db) }

// Options are the options of Open.
type Options struct {
	// Now is the wall clock of the process. Required. An SQLite database takes the time from it, but counts limits and measures deadlines with
	// Elapsed, starting from the time at which the database was opened. A PostgreSQL database has its own clock.
	Now func() time.Time
	// TokensKept is how long the record of a token is kept after the token has expired. It must cover the renew grace and the leeway. Values
	// under 24 hours are raised to 24 hours.
	TokensKept time.Duration
	// Elapsed is a monotonic clock. If it is nil, Open derives it from the monotonic readings of Now.
	Elapsed func() time.Duration
	// Stepped is called with the difference when the clock of a PostgreSQL server has been set; the difference is negative if the clock was
	// set back. Afterwards each rolling limit is stricter, for up to its period. Stepped may be nil, and must return quickly.
	Stepped func(by time.Duration)
	// Services are the services of the configuration. Open compares them with those in the database, and, if a service has a new id, moves its
	// state to that id: see store.ServicesError. If Services is nil, nothing is compared.
	Services *store.Services
	// SetBack is called when a PostgreSQL database lacks commits that it acknowledged to this process, with the minimum number of such
	// commits. Either a standby without these commits was promoted, or a copy has replaced the database. The state is then marked as restored:
	// see MarkRestored. SetBack may be nil, and must return quickly.
	SetBack func(missing int64)
	// ServerChanged is called when a PostgreSQL database is found on a different server or timeline than before. It may be nil, and must
	// return quickly.
	ServerChanged func()
}

const leastTokensKept = 24 * time.Hour

// Errors about databases.
var (
	// ErrNotOurs means that a file is not a database of uimgate.
	ErrNotOurs = engine.ErrNotOurs
	// ErrDamaged means that the parts of a database contradict each other.
	ErrDamaged = engine.ErrDamaged
	// ErrEmpty means that a database has no tables of uimgate yet.
	ErrEmpty = engine.ErrEmpty
	// ErrInUse means that another process has the database open.
	ErrInUse = engine.ErrInUse
)

// The parts of a Store. A Store has the methods of all of them.
type (
	callsRoom   = calls.Calls
	ledgerRoom  = ledger.Ledger
	recordsRoom = records.Records
	upkeepRoom  = upkeep.Upkeep
)

// A Store is an open database. It is safe for concurrent use.
type Store struct {
	*callsRoom
	*ledgerRoom
	*recordsRoom
	*upkeepRoom

	db   *engine.DB
	logs *logs.Logs
}

// Engine returns the database, for packages of store that keep other data in it, in separate transactions.
func (s *Store) Engine() *engine.DB { return s.db }

// Logs returns the logs of services over the ledger.
func (s *Store) Logs() *logs.Logs { return s.logs }

// Open opens a database and migrates its schema. place is the path of an SQLite file, which Open creates with mode 0600 if it does not
// exist, or the postgres:// URL of a database. Open rejects a database that only a newer version of uimgate can use, and a PostgreSQL
// server whose settings allow it to lose committed transactions. The error wraps ErrInUse if other processes use the database and could not
// continue after the migration. The caller must call Close. ctx is used only until Open returns.
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

// connect opens a store without starting its writers.
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
			err = fmt.Errorf("%w: restore a backup with uimgate restore: %w", ErrDamaged, err)
		}
		if engine.SQLState(err) == engine.InsufficientPrivilege {
			err = fmt.Errorf("%w: %s", err, engine.PrivilegeHint)
		}
		return nil, fmt.Errorf("opening the database %s: %w", engine.PublicPlace(place), err)
	}
	return s, nil
}

// assemble builds a store from its parts. Options that have a default must be set.
func assemble(opts Options, d *engine.Dialect, newJournal upkeep.NewJournal) *Store {
	db := engine.New(d, engine.Options{
		Now: opts.Now, Elapsed: opts.Elapsed, Stepped: opts.Stepped, SetBack: opts.SetBack, ServerChanged: opts.ServerChanged,
	})
	var journal calls.Journal
	if d.Sharing == engine.Exclusive {
		journal = newJournal(db)
	}
	l := ledger.New(db)
	c := calls.New(db, l, journal)
	return &Store{
		callsRoom: c, ledgerRoom: l, recordsRoom: records.New(db, c, l, opts.TokensKept),
		upkeepRoom: upkeep.New(db, c, l, journal, upkeep.Options{TokensKept: opts.TokensKept, Services: opts.Services}),
		db:         db, logs: logs.New(db),
	}
}

func (s *Store) connect(ctx context.Context, place string) error {
	if err := s.db.Connect(ctx, place); err != nil {
		return err
	}
	err := s.db.Upgrade(ctx, place, s.Upgrade)
	for _, read := range []func(context.Context) error{s.db.ReadState, s.ReadMoves, s.ReadState, s.StartClock, s.readEpochs} {
		if err == nil {
			err = read(ctx)
		}
	}
	if err != nil {
		return errors.Join(err, s.db.Disconnect(ctx))
	}
	return nil
}

func (s *Store) readEpochs(ctx context.Context) error { return s.Epochs.Read(ctx, s.db) }

// Close waits for the queued writes, and rejects new ones with store.ErrUnavailable. It also returns an error if the last charges could not
// be written from the journal into their tables; even then, no charge is lost.
func (s *Store) Close() error { return s.db.Close() }

// Contents counts the records of a database.
type Contents = upkeep.Contents

// Backup writes a snapshot of the SQLite database at path into a new file with the path to; see upkeep.Backup.
func Backup(ctx context.Context, path, to string) error { return upkeep.Backup(ctx, path, to) }

// Inspect checks that the SQLite database at path, which must not be in use, is complete: see upkeep.Inspect.
func Inspect(ctx context.Context, path string) (Contents, error) {
	return upkeep.Inspect(ctx, path, newJournal)
}

// Verify checks that the accounts of the database at place (see Open) are the sums over its ledger. The database may be in use. See
// upkeep.Verify.
func Verify(ctx context.Context, place string) (Contents, error) {
	return upkeep.Verify(ctx, place, newJournal)
}

// A VerifiedPoint is how far a ledger was verified.
type VerifiedPoint = upkeep.VerifiedPoint

// A VerifiedLog is the state of a log at a VerifiedPoint.
type VerifiedLog = upkeep.VerifiedLog

// ErrBeforePoint means that a ledger has fewer entries than an earlier check verified.
var ErrBeforePoint = upkeep.ErrBeforePoint

// ErrRestored means that the state was restored after an earlier check had verified it.
var ErrRestored = upkeep.ErrRestored

// VerifySince is like Verify, but continues from the point up to which an earlier check verified the ledger; nil means that there was none.
// VerifySince returns the point up to which the ledger is now verified. See upkeep.Upkeep.CheckSince.
func VerifySince(ctx context.Context, place string, since *VerifiedPoint) (Contents, VerifiedPoint, error) {
	return upkeep.VerifySince(ctx, place, newJournal, since)
}

// VerifyAgreements verifies the agreements of all charges of the database at place, which may be in use: see
// records.Records.CheckAgreements.
func VerifyAgreements(ctx context.Context, place string) error {
	return upkeep.ReadOnly(ctx, place, func(db *engine.DB, _ int64) error { return records.New(db, nil, nil, 0).CheckAgreements(ctx) })
}

// Fold merges the write-ahead log of the SQLite database at path into the database file: see upkeep.Fold.
func Fold(ctx context.Context, path string) error { return upkeep.Fold(ctx, path) }

// Restore prepares the SQLite database at path to replace a lost database. The file must be a copy of a backup and must not be in use.
// Restore migrates the schema, checks that the accounts balance, and marks the state as restored: see MarkRestored. When it returns, the
// file is synced and contains the whole database, without a write-ahead log.
func Restore(ctx context.Context, path string, l store.RestoredLimits, opts Options) (Contents, error) {
	s, err := Open(ctx, path, opts)
	if err != nil {
		return Contents{}, err
	}
	found, err := s.Restored(ctx, l)
	if err = errors.Join(err, s.Close()); err != nil {
		return Contents{}, err
	}
	return found, Fold(ctx, path)
}

// CheckServices compares the services of a configuration with those in the database at place: see upkeep.CheckServices.
func CheckServices(ctx context.Context, place string, want store.Services) ([]store.ServiceProblem, error) {
	return upkeep.CheckServices(ctx, place, want)
}

// IsEmpty reports whether the PostgreSQL database at the URL place has no tables of uimgate yet. It changes nothing.
func IsEmpty(ctx context.Context, place string) (bool, error) {
	err := upkeep.ReadOnly(ctx, place, func(*engine.DB, int64) error { return nil })
	if errors.Is(err, ErrEmpty) {
		return true, nil
	}
	return false, err
}

// ReadHolders is like Store.Holders for the database at place (see Open), which may be in use. It changes nothing. If the schema is too old
// to record services, it returns nil.
func ReadHolders(ctx context.Context, place, service string, ids []pat.AgentID) (agents []pat.Agent, err error) {
	err = upkeep.ReadServices(ctx, place, func(db *engine.DB) error {
		agents, err = records.New(db, nil, nil, 0).Holders(ctx, service, ids)
		return err
	})
	return agents, err
}

// ReadUses is like Store.Uses for the database at place (see Open), which may be in use. It changes nothing. If the schema is too old to
// record uses, it returns nil.
func ReadUses(ctx context.Context, place, service string, since time.Time) (uses []store.IntentUse, err error) {
	err = upkeep.ReadUses(ctx, place, func(db *engine.DB) error {
		uses, err = records.New(db, nil, nil, 0).Uses(ctx, service, since)
		return err
	})
	return uses, err
}

// RestoredAt returns when the state was last restored to an earlier one, for example from a backup. It returns the zero time if that never
// happened. See MarkRestored.
func (s *Store) RestoredAt() time.Time { return s.db.Floor() }
