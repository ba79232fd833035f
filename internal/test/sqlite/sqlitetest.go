// Package sqlitetest has an SQLite database for tests to copy, because creating the schema takes longer than most tests:
//
//	sqlitetest.Empty.Copy(t, config.StatePath(dir))
package sqlitetest

import (
	"context"
	"database/sql"
	"testing"
	"time"

	_ "modernc.org/sqlite" // Alter

	storetest "github.com/uimgate/uimgate/internal/test/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// Empty is the database of an unused gateway.
var Empty = storetest.NewTemplate(func(path string) error {
	s, err := sqlstore.Open(context.Background(), path, sqlstore.Options{Now: time.Now})
	if err != nil {
		return err
	}
	return s.Close()
})

// Alter runs a statement on a database over a separate connection.
func Alter(tb testing.TB, path, statement string) {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		tb.Fatal(err)
	}
	_, err = db.ExecContext(tb.Context(), statement)
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		tb.Fatal(err)
	}
}
