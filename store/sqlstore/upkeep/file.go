package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

// openFile opens one connection to an existing database file. options are alternating names and values of parameters of its URI. The error
// wraps engine.ErrNotOurs if the file is not an SQLite database.
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

// hasHeader checks that a file begins with the header of an SQLite database. SQLite would delete the journal files of a file without the
// header.
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
		return fmt.Errorf("%s: %w", path, engine.ErrNotOurs)
	}
	return nil
}

func notADatabase(path string, err error) error {
	switch engine.SQLiteCode(err) {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s: %w", path, engine.ErrNotOurs)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%s: %w", path, engine.ErrDamaged)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// schemaOf returns the version of a database's schema. It returns an error if the file is not a database of uimgate, or if this program
// does not support the version.
func schemaOf(ctx context.Context, db *sql.DB) (int64, error) {
	var tables int
	if err := db.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name IN ('goose_db_version', 'ledger', "+
			"'agreements')").Scan(&tables); err != nil {
		return 0, notADatabase("reading the schema", err)
	}
	if tables != 3 {
		return 0, engine.ErrNotOurs
	}
	return versionOf(ctx, db)
}

// serverSchemaOf is like schemaOf for a database of PostgreSQL. It returns engine.ErrEmpty if the database has no tables of uimgate.
func serverSchemaOf(ctx context.Context, db *sql.DB) (int64, error) {
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(t.name) FROM (VALUES (to_regclass('goose_db_version')), (to_regclass('ledger')), "+
		"(to_regclass('agreements'))) AS t (name)").Scan(&tables); err != nil {
		return 0, fmt.Errorf("reading the schema: %w", err)
	}
	if tables == 0 {
		return 0, engine.ErrEmpty
	}
	return versionOf(ctx, db)
}

// versionOf returns the last migration applied to a database of uimgate. The error wraps schema.ErrNewer if this program cannot use it.
func versionOf(ctx context.Context, db *sql.DB) (int64, error) {
	var version int64
	if err := db.QueryRowContext(ctx,
		"SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&version); err != nil {
		return 0, fmt.Errorf("%w: reading the schema version: %w", engine.ErrDamaged, err)
	}
	return version, schema.Usable(ctx, db, version)
}

// integrityCheck runs SQLite's check of all pages, indexes and references.
func integrityCheck(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("%w: %w", engine.ErrDamaged, err))
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", engine.ErrDamaged, verdict)
	}
	var table, parent string
	var row, key sql.NullInt64
	switch err := db.QueryRowContext(ctx, "PRAGMA foreign_key_check").Scan(&table, &row, &parent, &key); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return errors.Join(ctx.Err(), fmt.Errorf("%w: %w", engine.ErrDamaged, err))
	}
	return fmt.Errorf("%w: a row of %s refers to a missing row of %s", engine.ErrDamaged, table, parent)
}
