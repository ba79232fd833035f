package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite returns the dialect of SQLite, which has one writer. SQLite permits only one transaction at a time to write. BEGIN IMMEDIATE waits
// for its turn before the transaction reads, so that nothing changes between its reads and writes.
func SQLite() *Dialect {
	words := strings.NewReplacer(" FOR UPDATE SKIP LOCKED", "", " FOR UPDATE", "", "{ledger}", ledgerNumber, "{whole}", "OR ROLLBACK ")
	return &Dialect{
		Goose:    goose.DialectSQLite3,
		Sharing:  Exclusive,
		Counting: ByAnchor,
		Open:     openSQLite,
		lanes:    1,
		// SQLite can undo each statement that inserts several rows with given row ids. By default it writes the pages for that to a temporary
		// file, which takes half the time of such a statement. Migrations run before, so that their large sorts do not use memory.
		callSettings: "PRAGMA temp_store = MEMORY",
		begin:        "BEGIN IMMEDIATE",
		Rewrite:      words.Replace,
		Send:         oneByOne,
		Retriable:    func(error) bool { return false }, // the busy timeout has waited long enough
		Lost:         func(error) bool { return false },
		constraint: func(err error) bool {
			return SQLiteCode(err) == sqlite3.SQLITE_CONSTRAINT
		},
	}
}

// oneByOne runs statements one after another.
func oneByOne(ctx context.Context, w *Writer, list []Command) error {
	for _, c := range list {
		if c.Row != nil {
			if err := w.query(ctx, c.Query, c.Args, c.Row); err != nil {
				return err
			}
			continue
		}
		switch n, err := w.direct(ctx, c.Query, c.Args); {
		case err != nil:
			return err
		case c.Must > 0 && n != int64(c.Must):
			return conflict{ErrUnchanged}
		}
	}
	return nil
}

// SQLiteCode returns the primary result code of an error of SQLite, or 0 for any other error.
func SQLiteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// SQLiteSource returns the data source name of a database file, with the settings of each connection. The write-ahead log is flushed at
// every commit. It is written back into the file when it reaches 16 MB, so that a page that many transactions change is written back once.
// Foreign keys are enforced, and a transaction waits up to five seconds for locks of other processes.
func SQLiteSource(path string, readOnly bool) string {
	q := url.Values{}
	q["_pragma"] = []string{
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "journal_size_limit(67108864)",
		"trusted_schema(0)", "cache_size(-8192)", "wal_autocheckpoint(4000)",
	}
	if readOnly {
		q.Add("_pragma", "query_only(1)")
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// openSQLite creates the file if it does not exist, and permits only its owner to access it. The write-ahead log gets the same mode.
func openSQLite(ctx context.Context, path string) (write, read *sql.DB, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return nil, nil, err
	}
	if write, err = sql.Open("sqlite", SQLiteSource(path, false)); err != nil {
		return nil, nil, err
	}
	if read, err = sql.Open("sqlite", SQLiteSource(path, true)); err != nil {
		return nil, nil, errors.Join(err, write.Close())
	}
	write.SetMaxOpenConns(1)
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	var journal string
	var synchronous int
	err = errors.Join(write.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal),
		write.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous))
	if err == nil && (journal != "wal" || synchronous != 2) {
		err = fmt.Errorf("the file system does not support a write-ahead log (journal_mode %s, synchronous %d)", journal, synchronous)
	}
	if err != nil {
		return nil, nil, errors.Join(err, write.Close(), read.Close())
	}
	return write, read, nil
}

// DiskFull reports whether an error of SQLite means that the disk is full.
func DiskFull(err error) bool { return SQLiteCode(err) == sqlite3.SQLITE_FULL }
