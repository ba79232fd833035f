package schema

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
)

// snapshot is what all migrations together make of an empty SQLite database: its tables, indexes and rows. SQLite runs the snapshot several
// times faster than the migrations, because it parses the whole schema again after most migrations. It is generated from the migrations:
// go test ./store/sqlstore/internal/schema -update.
//
//go:embed snapshot.sql
var snapshot string

const countObjects = "SELECT count(*) FROM sqlite_schema"

// create writes the snapshot into an SQLite database in one transaction. If the database is not empty, create changes nothing and returns
// false.
func create(ctx context.Context, db *sql.DB) (created bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// A deferred transaction could not write if another process creates the schema after the first read.
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return false, err
	}
	defer func() {
		if !created {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // fails if SQLite has already rolled back
		}
	}()
	var objects int
	if err := conn.QueryRowContext(ctx, countObjects).Scan(&objects); err != nil || objects > 0 {
		return false, err
	}
	for _, statements := range []string{snapshot, "COMMIT"} {
		if _, err := conn.ExecContext(ctx, statements); err != nil {
			return false, fmt.Errorf("creating the schema: %w", err)
		}
	}
	return true, nil
}

// createNew creates the schema if an SQLite database is empty, and reports whether it did. It first calls the function before.
func createNew(ctx context.Context, db *sql.DB, before func(context.Context, int64) error) (bool, error) {
	var objects int
	if err := db.QueryRowContext(ctx, countObjects).Scan(&objects); err != nil || objects > 0 {
		return false, err
	}
	if err := before(ctx, 0); err != nil {
		return false, err
	}
	return create(ctx, db)
}
