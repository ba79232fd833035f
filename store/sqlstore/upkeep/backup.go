package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

// Contents counts the records of a database. The tags are the names in the output of commands.
type Contents struct {
	Schema int64 `json:"schema_version"` // the last migration applied
	// The fields below are zero if the schema is older than the schema of this program.
	Agents        int64     `json:"agents"`
	Agreements    int64     `json:"agreements"`
	Executions    int64     `json:"executions"`
	Unresolved    int64     `json:"unresolved"`
	Entries       int64     `json:"ledger_entries"`
	Accounts      int64     `json:"-"`
	Latest        time.Time `json:"latest_entry,omitzero"` // the time of the last entry of the ledger
	RelayAgents   int64     `json:"relay_agents"`
	RelayMessages int64     `json:"relay_messages"`
	RelayBlobs    int64     `json:"relay_blobs"` // their contents are not in the database
}

// Backup writes a snapshot of the SQLite database at path into the file with the path to. This file must be empty or absent. Other
// transactions, in this process or another, do not wait, but the write-ahead log grows until the copy is complete. The copy is not synced.
// If ctx ends, the copy is left incomplete.
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

// Inspect checks that the SQLite database at path is complete: its pages and indexes agree, and each reference has a target. If its schema
// has the version of this program, its accounts must also be the sums over its ledger. The database must not be in use. It changes nothing.
// The error wraps engine.ErrNotOurs, engine.ErrDamaged, store.ErrUnbalanced or, if the schema is too new, schema.ErrNewer.
func Inspect(ctx context.Context, path string, journal NewJournal) (Contents, error) {
	file, err := openFile(ctx, path, "mode", "ro", "immutable", "1")
	if err != nil {
		return Contents{}, err
	}
	defer func() { _ = file.Close() }()
	version, err := schemaOf(ctx, file)
	if err != nil {
		return Contents{}, err
	}
	if err := integrityCheck(ctx, file); err != nil {
		return Contents{}, err
	}
	if version < schema.Newest() {
		return Contents{Schema: version}, nil
	}
	return look(ctx, engine.ReadOnly(engine.SQLite(), file), journal)
}

// Verify checks that the accounts of the database at place, which may be in use, are the sums of their ledger entries. It changes nothing.
// The error wraps store.ErrUnbalanced or engine.ErrNotOurs, or reports that the schema is too old or too new for this program.
func Verify(ctx context.Context, place string, journal NewJournal) (Contents, error) {
	found, _, err := VerifySince(ctx, place, journal, nil)
	return found, err
}

// VerifySince is like Verify, but continues from the point of an earlier check; see CheckSince.
func VerifySince(ctx context.Context, place string, journal NewJournal, since *VerifiedPoint) (
	found Contents, now VerifiedPoint, err error,
) {
	err = ReadOnly(ctx, place, func(db *engine.DB, version int64) error {
		if version < schema.Newest() {
			return fmt.Errorf("the schema has version %d, but this program needs %d: start the gateway once to migrate it", version, schema.Newest())
		}
		found, now, err = lookSince(ctx, db, journal, since)
		return err
	})
	return found, now, err
}

// look checks and counts the records of a database.
func look(ctx context.Context, db *engine.DB, journal NewJournal) (Contents, error) {
	found, _, err := lookSince(ctx, db, journal, nil)
	return found, err
}

func lookSince(ctx context.Context, db *engine.DB, journal NewJournal, since *VerifiedPoint) (Contents, VerifiedPoint, error) {
	u := &Upkeep{db: db}
	if db.Sharing() == engine.Exclusive {
		u.journal = journal(db)
	}
	now, err := u.CheckSince(ctx, since)
	if err != nil {
		return Contents{}, now, err
	}
	found, err := u.contents(ctx)
	return found, now, err
}

// ReadOnly opens the database at place, which may be in use, for reading only, and does not migrate it. It calls the function do with the
// database and the version of the schema. The error wraps engine.ErrEmpty if a database of PostgreSQL has no tables of uimgate.
func ReadOnly(ctx context.Context, place string, do func(db *engine.DB, version int64) error) (err error) {
	read, version := (*sql.DB)(nil), schemaOf
	if engine.IsPostgres(place) {
		version = serverSchemaOf
		read, err = engine.OpenReader(ctx, place)
	} else {
		read, err = openFile(ctx, place, "mode", "rw") // unchanged
	}
	if err != nil {
		return fmt.Errorf("opening the database %s: %w", engine.PublicPlace(place), err)
	}
	defer func() { _ = read.Close() }()
	n, err := version(ctx, read)
	if err != nil {
		return err
	}
	return do(engine.ReadOnly(engine.DialectOf(place), read), n)
}

// Restored checks that the accounts of a restored database balance, and then marks the database as restored: see MarkRestored. The error
// wraps store.ErrUnbalanced if they do not balance.
func (u *Upkeep) Restored(ctx context.Context, l store.RestoredLimits) (Contents, error) {
	if err := u.CheckBalance(ctx); err != nil {
		return Contents{}, err
	}
	if err := u.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error { return t.MarkRestored(ctx, l) }); err != nil {
		return Contents{}, err
	}
	return u.contents(ctx)
}

// Fold merges the write-ahead log of the SQLite database at path into the database file, so that the file alone holds the whole state. The
// error wraps engine.ErrInUse if another process has the database open. A file that is not a database is left unchanged, and so are the
// files beside it.
func Fold(ctx context.Context, path string) error {
	db, err := openFile(ctx, path, "mode", "rw")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var mode string
	err = db.QueryRowContext(ctx, "PRAGMA journal_mode=DELETE").Scan(&mode)
	switch {
	case engine.SQLiteCode(err) == sqlite3.SQLITE_BUSY || engine.SQLiteCode(err) == sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%s: %w", path, engine.ErrInUse)
	case err != nil:
		return fmt.Errorf("%s: %w: %w", path, engine.ErrDamaged, err)
	case mode != "delete":
		return fmt.Errorf("%s: %w", path, engine.ErrInUse)
	}
	return db.Close()
}

// contents counts the records in one snapshot.
func (u *Upkeep) contents(ctx context.Context) (c Contents, err error) {
	c.Schema = schema.Newest()
	err = u.db.Snapshot(ctx, func(reader *engine.Reader) error {
		for _, n := range []struct {
			query string
			into  *int64
		}{
			{"SELECT COUNT(*) FROM agents", &c.Agents},
			{"SELECT COUNT(*) FROM agreements", &c.Agreements},
			{"SELECT COUNT(*) FROM executions", &c.Executions},
			{"SELECT COUNT(*) FROM executions WHERE state = '" + string(store.Unresolved) + "'", &c.Unresolved},
			{"SELECT COUNT(*) FROM ledger", &c.Entries},
			{"SELECT COUNT(*) FROM accounts", &c.Accounts},
			{"SELECT COUNT(*) FROM relay_agents", &c.RelayAgents},
			{"SELECT COUNT(*) FROM relay_messages", &c.RelayMessages},
			{"SELECT COUNT(*) FROM relay_blobs", &c.RelayBlobs},
		} {
			reader.Find(ctx, n.query, nil, n.into)
		}
		reader.Find(ctx, "SELECT at FROM ledger ORDER BY seq DESC LIMIT 1", nil, engine.Stored(&c.Latest))
		if u.journal == nil {
			return nil
		}
		more, err := u.journal.Check(ctx, reader)
		c.Executions, c.Unresolved, c.Entries = c.Executions+more.Executions, c.Unresolved+more.Unresolved, c.Entries+more.Entries
		if more.Latest.After(c.Latest) {
			c.Latest = more.Latest
		}
		return err
	})
	return c, err
}
