package schema_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"
	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

var update = flag.Bool("update", false, "write snapshot.sql from the migrations")

// A database that the snapshot creates is equal to one that all migrations create.
func TestSnapshotIsResultOfMigrations(t *testing.T) {
	t.Parallel()
	migrated := openFile(t, filepath.Join(t.TempDir(), "state.db"))
	p, err := schema.Provider(migrated, goose.DialectSQLite3, nil)
	if err == nil {
		_, err = p.Up(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	want := snapshotOf(t, migrated)
	if *update {
		if err := os.WriteFile("snapshot.sql", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("snapshot.sql")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Fatalf("snapshot.sql differs from the migrations, run go test ./store/sqlstore/internal/schema -update (-want +got):\n%s", d)
	}
	if *update {
		return // this binary contains the former snapshot
	}
	created := openFile(t, filepath.Join(t.TempDir(), "state.db"))
	if err := migrate(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(contentsOf(t, migrated), contentsOf(t, created)); d != "" {
		t.Errorf("a new database differs from a migrated one (-want +got):\n%s", d)
	}
}

// A database that already contains something gets the migrations.
func TestDatabaseInUseIsMigrated(t *testing.T) {
	t.Parallel()
	db := openFile(t, filepath.Join(t.TempDir(), "state.db"))
	_, err := db.ExecContext(t.Context(), "CREATE TABLE other (x TEXT); INSERT INTO other VALUES ('kept')")
	if err == nil {
		err = migrate(t.Context(), db)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, db, "SELECT x FROM other"); !cmp.Equal(got, []string{"kept"}) {
		t.Errorf("the table that was there has %q", got)
	}
	newest := fmt.Sprint(schema.Newest())
	if got := rowsOf(t, db, "SELECT max(version_id) FROM "+versions); !cmp.Equal(got, []string{newest}) {
		t.Errorf("the version is %q, want %s", got, newest)
	}
}

// Processes that start at the same time with a new database all get the complete schema.
func TestSnapshotIsWrittenOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	var all errgroup.Group
	for range 8 {
		db := openFile(t, path+"?_pragma=busy_timeout(5000)")
		all.Go(func() error { return migrate(t.Context(), db) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	alone := openFile(t, filepath.Join(t.TempDir(), "state.db"))
	if err := migrate(t.Context(), alone); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(contentsOf(t, alone), contentsOf(t, openFile(t, path))); d != "" {
		t.Errorf("the database differs from one that one process created (-want +got):\n%s", d)
	}
}

func migrate(ctx context.Context, db *sql.DB) error {
	nothing := func(context.Context) error { return nil }
	return schema.Migrate(ctx, db, schema.Options{
		Dialect: goose.DialectSQLite3, Alone: nothing, Before: func(ctx context.Context, _ int64) error { return nothing(ctx) },
	})
}

func openFile(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	return db
}

// rowsOf returns the rows of a query, each with its values as literals of SQL, separated by commas.
func rowsOf(t *testing.T, db *sql.DB, query string) (list []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]any, len(names))
		for i := range values {
			values[i] = new(sql.NullString)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		var literals []string
		for _, v := range values {
			literal := "NULL"
			if s, ok := v.(*sql.NullString); ok && s.Valid {
				literal = s.String
			}
			literals = append(literals, literal)
		}
		list = append(list, strings.Join(literals, ", "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// tablesOf returns the names of all tables, in the order of their creation.
func tablesOf(t *testing.T, db *sql.DB) []string {
	t.Helper()
	return rowsOf(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
}

// literals returns a query for the rows of a table, with each value as a literal of SQL.
func literals(t *testing.T, db *sql.DB, table, without string) (columns, query string) {
	t.Helper()
	var names, quoted []string
	for _, column := range rowsOf(t, db, fmt.Sprintf("SELECT name FROM pragma_table_info('%s')", table)) {
		if column != without {
			names, quoted = append(names, column), append(quoted, "quote("+column+")")
		}
	}
	return strings.Join(names, ", "), fmt.Sprintf("SELECT %s FROM %s ORDER BY rowid", strings.Join(quoted, ", "), table)
}

// versions is the table in which goose records the migrations that ran, and when.
const versions, ranAt = "goose_db_version", "tstamp"

// snapshotOf returns the statements that create the tables, indexes and rows of a database.
func snapshotOf(t *testing.T, db *sql.DB) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("-- Generated from migrations by go test ./store/sqlstore/internal/schema -update. Do not edit.\n\n")
	for _, statement := range rowsOf(t, db,
		"SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid") {
		out.WriteString(statement + ";\n\n")
	}
	for _, table := range tablesOf(t, db) {
		if table == "sqlite_sequence" { // SQLite writes it
			continue
		}
		without := ""
		if table == versions {
			without = ranAt
		}
		columns, query := literals(t, db, table, without)
		if rows := rowsOf(t, db, query); len(rows) > 0 {
			fmt.Fprintf(&out, "INSERT INTO %s (%s) VALUES\n    (%s);\n\n", table, columns, strings.Join(rows, "),\n    ("))
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// contentsOf returns everything in a database file: the settings in its header, the schema, and the rows of all tables.
func contentsOf(t *testing.T, db *sql.DB) map[string][]string {
	t.Helper()
	all := map[string][]string{
		"schema": rowsOf(t, db, "SELECT type, name, tbl_name, quote(sql) FROM sqlite_schema ORDER BY rowid"),
	}
	for _, setting := range []string{"application_id", "auto_vacuum", "encoding", "page_size", "user_version"} {
		all[setting] = rowsOf(t, db, "PRAGMA "+setting)
	}
	for _, table := range tablesOf(t, db) {
		without := ""
		if table == versions {
			without = ranAt
		}
		_, query := literals(t, db, table, without)
		all["rows of "+table] = rowsOf(t, db, query)
	}
	return all
}
