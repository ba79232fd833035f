package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/internal/journal"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

// Errors about SQLite database files.
var (
	// ErrNotOurs means that a file is not a database of uimgate.
	ErrNotOurs = errors.New("this is no database of uimgate")
	// ErrDamaged means that the parts of a database contradict each other.
	ErrDamaged = errors.New("the database is damaged")
	// ErrInUse means that another process has the database open.
	ErrInUse = errors.New("another process has the database open")
)

// Contents counts the records of a database.
type Contents struct {
	Schema int64 // the last migration applied
	// The rest is zero where the schema is older than this program's.
	Agents, Agreements, Executions, Unresolved, Entries int64
	Latest                                              time.Time // the last entry of the ledger
	RelayAgents, RelayMessages, RelayBlobs              int64     // of a relay; the bytes of blobs are elsewhere
}

// Backup writes the SQLite database at path, as it is at one moment, to the file to, which must be empty or absent. The
// database may be used meanwhile, in this process or another: other transactions do not wait, but the log beside the
// database grows until the copy is complete. The copy is not synced. When ctx ends it is left incomplete.
func Backup(ctx context.Context, path, to string) error {
	db, err := openFile(ctx, path, "mode", "rw") // unchanged: nothing is migrated
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if _, err := schemaOf(ctx, db); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("copying %s: %w", path, err))
	}
	return nil
}

// Inspect checks that the SQLite database at path, which must not be in use, is complete: its pages and indexes agree,
// every reference has a target and, where its schema is this program's, its accounts are the sums over its ledger. It
// changes nothing. Errors: ErrNotOurs, ErrDamaged, store.ErrUnbalanced, or that the schema is too new.
func Inspect(ctx context.Context, path string) (Contents, error) {
	db, err := openFile(ctx, path, "mode", "ro", "immutable", "1")
	if err != nil {
		return Contents{}, err
	}
	defer func() { _ = db.Close() }()
	version, err := schemaOf(ctx, db)
	if err != nil {
		return Contents{}, err
	}
	if err := integrityCheck(ctx, db); err != nil {
		return Contents{}, err
	}
	if version < schema.Newest() {
		return Contents{Schema: version}, nil
	}
	s := &Store{dialect: sqliteDialect(), read: db}
	if err := s.CheckBalance(ctx); err != nil {
		return Contents{}, err
	}
	return s.contents(ctx)
}

// Verify checks that the accounts of the database at a place (see Open), which may be in use, are the sums over its
// ledger. It changes nothing. Errors: store.ErrUnbalanced, ErrNotOurs, or that the schema is not this program's.
func Verify(ctx context.Context, place string) (found Contents, err error) {
	err = readOnly(ctx, place, func(s *Store, version int64) error {
		if version < schema.Newest() {
			return fmt.Errorf("the schema is of version %d and this program's %d: start the gateway once", version, schema.Newest())
		}
		if err := s.CheckBalance(ctx); err != nil {
			return err
		}
		found, err = s.contents(ctx)
		return err
	})
	return found, err
}

// readOnly opens the database at a place, which may be in use, only to read it: nothing is migrated. do also gets the version of its
// schema.
func readOnly(ctx context.Context, place string, do func(s *Store, version int64) error) (err error) {
	s := &Store{dialect: sqliteDialect()}
	if isPostgres(place) {
		s.dialect = postgresDialect()
		s.write, s.read, err = openPostgres(ctx, place)
	} else {
		s.read, err = openFile(ctx, place, "mode", "rw") // unchanged
	}
	if err != nil {
		return fmt.Errorf("opening the database %s: %w", publicPlace(place), err)
	}
	defer func() {
		_ = s.read.Close()
		if s.write != nil {
			_ = s.write.Close()
		}
	}()
	read := schemaOf
	if isPostgres(place) {
		read = versionOf
	}
	version, err := read(ctx, s.read)
	if err != nil {
		return err
	}
	return do(s, version)
}

// Restore prepares the SQLite database at path, a copy of a backup that is not in use, to replace a lost one: it
// migrates the schema, checks that the accounts balance, and marks the state as restored. Then the file is the whole
// database, synced, with no log beside it.
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

// Restored checks that a state which was set back to an earlier one balances, and then marks it: see MarkRestored.
func (s *Store) Restored(ctx context.Context) (Contents, error) {
	if err := s.CheckBalance(ctx); err != nil {
		return Contents{}, err
	}
	if err := s.MarkRestored(ctx); err != nil {
		return Contents{}, err
	}
	return s.contents(ctx)
}

// Fold writes the log beside the SQLite database at path back into it, so that the file alone is the whole state.
// ErrInUse if another process has it open. A file that is not a database is left unchanged, and so are the files beside
// it.
func Fold(ctx context.Context, path string) error {
	db, err := openFile(ctx, path, "mode", "rw")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var mode string
	err = db.QueryRowContext(ctx, "PRAGMA journal_mode=DELETE").Scan(&mode)
	switch {
	case sqliteCode(err) == sqlite3.SQLITE_BUSY || sqliteCode(err) == sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%s: %w", path, ErrInUse)
	case err != nil:
		return fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	case mode != "delete":
		return fmt.Errorf("%s: %w", path, ErrInUse)
	}
	return db.Close()
}

// openFile opens one connection to an existing database file.
func openFile(ctx context.Context, path string, options ...string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := hasHeader(path); err != nil {
		return nil, err
	}
	q := url.Values{"_pragma": {"busy_timeout(5000)", "trusted_schema(0)", "synchronous(FULL)"}}
	for i := 0; i+1 < len(options); i += 2 {
		q.Set(options[i], options[i+1])
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(notADatabase(path, err), db.Close())
	}
	return db, nil
}

// hasHeader checks that a file begins like a database. SQLite would remove the files beside one that does not.
func hasHeader(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	const magic = "SQLite format 3\x00" // the database file format, 1.3.1
	header := make([]byte, len(magic))
	if info, err := f.Stat(); err != nil {
		return err
	} else if _, err := io.ReadFull(f, header); err != nil || !info.Mode().IsRegular() || string(header) != magic {
		return fmt.Errorf("%s: %w", path, ErrNotOurs)
	}
	return nil
}

func notADatabase(path string, err error) error {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s: %w", path, ErrNotOurs)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%s: %w", path, ErrDamaged)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// schemaOf returns the version of a database's schema; an error where this program does not support it.
func schemaOf(ctx context.Context, db *sql.DB) (int64, error) {
	var tables int
	if err := db.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name IN ('goose_db_version', 'ledger', "+
			"'agreements')").Scan(&tables); err != nil {
		return 0, notADatabase("reading it", err)
	}
	if tables != 3 {
		return 0, ErrNotOurs
	}
	return versionOf(ctx, db)
}

// versionOf reads the last migration applied to a database of uimgate.
func versionOf(ctx context.Context, db *sql.DB) (int64, error) {
	var version int64
	if err := db.QueryRowContext(ctx,
		"SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&version); err != nil {
		return 0, fmt.Errorf("%w: reading its schema version: %w", ErrDamaged, err)
	}
	return version, schema.Usable(ctx, db, version)
}

// integrityCheck runs SQLite's check of all pages, indexes and references.
func integrityCheck(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("%w: %w", ErrDamaged, err))
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrDamaged, verdict)
	}
	var table, parent string
	var row, key sql.NullInt64
	switch err := db.QueryRowContext(ctx, "PRAGMA foreign_key_check").Scan(&table, &row, &parent, &key); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return errors.Join(ctx.Err(), fmt.Errorf("%w: %w", ErrDamaged, err))
	}
	return fmt.Errorf("%w: a row of %s leads to no row of %s", ErrDamaged, table, parent)
}

// contents counts the records, as they are at one moment.
func (s *Store) contents(ctx context.Context) (c Contents, err error) {
	reader, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return Contents{}, unavailable(err)
	}
	defer func() { _ = reader.Rollback() }()
	c.Schema = schema.Newest()
	for _, n := range []struct {
		query string
		into  *int64
	}{
		{"SELECT COUNT(*) FROM agents", &c.Agents},
		{"SELECT COUNT(*) FROM agreements", &c.Agreements},
		{"SELECT COUNT(*) FROM executions", &c.Executions},
		{"SELECT COUNT(*) FROM executions WHERE state = '" + string(store.Unresolved) + "'", &c.Unresolved},
		{"SELECT COUNT(*) FROM ledger", &c.Entries},
		{"SELECT COUNT(*) FROM relay_agents", &c.RelayAgents},
		{"SELECT COUNT(*) FROM relay_messages", &c.RelayMessages},
		{"SELECT COUNT(*) FROM relay_blobs", &c.RelayBlobs},
	} {
		if err := reader.QueryRowContext(ctx, n.query).Scan(n.into); err != nil {
			return Contents{}, unavailable(err)
		}
	}
	var at int64
	err = reader.QueryRowContext(ctx, "SELECT at FROM ledger ORDER BY seq DESC LIMIT 1").Scan(&at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Contents{}, unavailable(err)
	}
	c.Latest = fromNanos(at)
	p, err := s.readPending(ctx, reader)
	if err != nil {
		return Contents{}, err
	}
	c.add(p)
	return c, nil
}

// add counts what is only in the journal.
func (c *Contents) add(p *journal.Pending) {
	c.Executions += int64(len(p.Begun))
	c.Entries += int64(len(p.Lines))
	for _, l := range p.Lines {
		if l.From == store.Unresolved {
			c.Unresolved--
		}
		if l.Execution.State == store.Unresolved {
			c.Unresolved++
		}
		if at := fromNanos(nanos(lineOf(l).at())); at.After(c.Latest) {
			c.Latest = at
		}
	}
}
