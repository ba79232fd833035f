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

// SQLite is the dialect of SQLite. It has one writer: SQLite permits only one transaction to write, and BEGIN IMMEDIATE waits for that
// before it reads, so that nothing changes between its reads and writes.
func SQLite() *Dialect {
	words := strings.NewReplacer(" FOR UPDATE SKIP LOCKED", "", " FOR UPDATE", "", "{ledger}", ledgerNumber, "{whole}", "OR ROLLBACK ")
	return &Dialect{
		Goose:     goose.DialectSQLite3,
		Sharing:   Exclusive,
		Counting:  ByAnchor,
		Open:      openSQLite,
		lanes:     1,
		begin:     "BEGIN IMMEDIATE",
		Rewrite:   words.Replace,
		Send:      oneByOne,
		Retriable: func(error) bool { return false }, // the busy timeout has waited long enough
		Lost:      func(error) bool { return false },
		constraint: func(err error) bool {
			return SQLiteCode(err) == sqlite3.SQLITE_CONSTRAINT
		},
	}
}

// oneByOne sends statements to a database in this process.
func oneByOne(ctx context.Context, w *Writer, list []Command) error {
	for _, c := range list {
		if c.Row != nil {
			if err := w.query(ctx, c.Query, c.Args, c.Row); err != nil {
				return err
			}
			continue
		}
		switch n, err := w.exec(ctx, c.Query, c.Args...); {
		case err != nil:
			return err
		case c.Must > 0 && n != int64(c.Must):
			return conflict{ErrUnchanged}
		}
	}
	return nil
}

// SQLiteCode returns the primary result code of an error, or 0.
func SQLiteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// SQLiteSource names the database file and the settings of each connection: a write-ahead log flushed at every commit, and written back
// when it has 16 MB, so that a page which many transactions change is written back once; foreign keys enforced, a timeout of five seconds
// for locks of other processes.
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

// openSQLite creates the file if it does not exist, for its owner only; the log beside it gets the same mode.
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
		err = fmt.Errorf("the file system does not allow a write-ahead log (journal_mode %s, synchronous %d)", journal, synchronous)
	}
	if err != nil {
		return nil, nil, errors.Join(err, write.Close(), read.Close())
	}
	return write, read, nil
}

// DiskFull reports whether an error of SQLite is that its disk is full.
func DiskFull(err error) bool { return SQLiteCode(err) == sqlite3.SQLITE_FULL }
