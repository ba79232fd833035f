package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// ErrHasState means that a database already has the state of agents.
var ErrHasState = errors.New("the database already has the state of agents")

// ofOneDatabase are the tables that Transfer does not copy: the migrations, processes and locks of one database, and used nonces, which the
// engines store in different forms.
var ofOneDatabase = []string{
	"goose_db_version", "processes", "stop_reads", "log_lease", "certificate_locks", "nonces", "nonce_batches", "journal", "sequences",
}

// Transfer copies the state from the SQLite database at from into the PostgreSQL database at place, in one transaction. Both must have the
// schema of this program and must not be in use, and the journal of the first must be empty. Used nonces are not copied. The error wraps
// ErrHasState if place has the state of agents, and engine.ErrInUse if a process uses place.
func Transfer(ctx context.Context, from, place string) error {
	source, err := openFile(ctx, from, "mode", "ro", "immutable", "1")
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	var pending int64
	if err := source.QueryRowContext(ctx, "SELECT COUNT(*) FROM journal WHERE id > 0").Scan(&pending); err != nil {
		return err
	}
	if pending > 0 {
		return fmt.Errorf("%w: the journal of %s is not empty", engine.ErrDamaged, from)
	}
	return engine.ImportInto(ctx, place, func(ctx context.Context, to *engine.Import) error {
		n, err := to.Count(ctx, "SELECT (SELECT COUNT(*) FROM agents) + (SELECT COUNT(*) FROM ledger)")
		if err != nil {
			return err
		}
		if n > 0 {
			return ErrHasState
		}
		tables, err := to.Tables(ctx)
		if err != nil {
			return err
		}
		tables = slices.DeleteFunc(tables, func(t engine.Table) bool { return slices.Contains(ofOneDatabase, t.Name) })
		if err := compareTables(ctx, source, tables); err != nil {
			return err
		}
		for _, t := range slices.Backward(tables) {
			if err := to.Exec(ctx, "DELETE FROM "+t.Name); err != nil {
				return err
			}
		}
		for _, t := range tables {
			if err := transferTable(ctx, source, to, t); err != nil {
				return err
			}
		}
		return transferSequences(ctx, source, to)
	})
}

// compareTables returns an error unless the source has exactly the given tables, besides those of ofOneDatabase.
func compareTables(ctx context.Context, source *sql.DB, tables []engine.Table) error {
	rows, err := source.QueryContext(ctx,
		"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name")
	if err != nil {
		return err
	}
	var have, want []string
	err = engine.Drain(rows, func(scan engine.Scan) error {
		var name string
		err := scan(&name)
		if !slices.Contains(ofOneDatabase, name) {
			have = append(have, name)
		}
		return err
	})
	for _, t := range tables {
		want = append(want, t.Name)
	}
	slices.Sort(want)
	if err == nil && !slices.Equal(have, want) {
		err = fmt.Errorf("%w: it has the tables %s, and not %s", engine.ErrDamaged, strings.Join(have, ", "), strings.Join(want, ", "))
	}
	return err
}

// transferTable copies all rows of a table.
func transferTable(ctx context.Context, source *sql.DB, to *engine.Import, t engine.Table) error {
	names := make([]string, 0, len(t.Columns))
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	rows, err := source.QueryContext(ctx, "SELECT "+strings.Join(names, ", ")+" FROM "+t.Name) //nolint:gosec // names of the schema
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	err = to.Fill(ctx, t, func() ([]any, error) {
		if !rows.Next() {
			return nil, rows.Err()
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := make([]any, len(values))
		for i, c := range t.Columns {
			var err error
			if row[i], err = valueFor(c, values[i]); err != nil {
				return nil, err
			}
		}
		return row, nil
	})
	return errors.Join(err, rows.Close())
}

// valueFor converts a value of SQLite, whose columns accept every type, to the type of a column of PostgreSQL.
func valueFor(c engine.Column, value any) (any, error) {
	switch v := value.(type) {
	case nil:
		return v, nil
	case int64:
		if c.Type == "bigint" {
			return v, nil
		}
	case string:
		switch c.Type {
		case "text":
			return v, nil
		case "bytea":
			return []byte(v), nil
		}
	case []byte:
		switch c.Type {
		case "text":
			return string(v), nil
		case "bytea":
			return append([]byte{}, v...), nil // not nil, which would be NULL: an empty blob is read as a nil slice
		}
	}
	return nil, fmt.Errorf("%w: the column %s, which has the type %s, holds a value of the type %T", engine.ErrDamaged, c.Name, c.Type, value)
}

// transferSequences copies the counters of the state. Counters of a server, and of the clock of a file, stay as they are.
func transferSequences(ctx context.Context, source *sql.DB, to *engine.Import) error {
	rows, err := source.QueryContext(ctx, "SELECT name, n FROM sequences WHERE name <> 'anchor_behind'")
	if err != nil {
		return err
	}
	return engine.Drain(rows, func(scan engine.Scan) error {
		var name string
		var n int64
		if err := scan(&name, &n); err != nil {
			return err
		}
		return to.Exec(ctx, "INSERT INTO sequences (name, n) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET n = excluded.n", name, n)
	})
}
