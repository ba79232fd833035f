package storetest

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

// Grow copies one row of a table n times in a database that no process uses, so that the database has many records. place is a path of
// SQLite or a URL of PostgreSQL. values are SQL expressions of columns that differ; in them, n.n is the number of the copy, from 1 on, and
// r is the row.
func Grow(tb testing.TB, place, table string, n int, values map[string]string) {
	tb.Helper()
	driver := "sqlite"
	if strings.HasPrefix(place, "postgres") {
		driver = "pgx"
	}
	db, err := sql.Open(driver, place)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(tb.Context(), "SELECT * FROM "+table+" LIMIT 1")
	if err != nil {
		tb.Fatal(err)
	}
	columns, err := rows.Columns()
	if found := rows.Next(); err != nil || !found {
		tb.Fatalf("%s has no row to copy: %v, %v", table, err, rows.Err())
	}
	if err := rows.Close(); err != nil {
		tb.Fatal(err)
	}
	list := make([]string, 0, len(columns))
	for _, c := range columns {
		v, ok := values[c]
		if !ok {
			v = "r." + c
		}
		list = append(list, v)
	}
	query := fmt.Sprintf("INSERT INTO %s (%s) WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %d) "+
		"SELECT %s FROM n, (SELECT * FROM %s LIMIT 1) r", table, strings.Join(columns, ", "), n, strings.Join(list, ", "), table)
	if _, err := db.ExecContext(tb.Context(), query); err != nil {
		tb.Fatal(err)
	}
	after := "PRAGMA wal_checkpoint(TRUNCATE)" // a gateway does not analyze its database
	if driver == "pgx" {
		after = "VACUUM ANALYZE " + table
	}
	if _, err := db.ExecContext(tb.Context(), after); err != nil {
		tb.Fatal(err)
	}
}
