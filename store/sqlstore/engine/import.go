package engine

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// A Column is a column of a table. Type is bigint, text or bytea.
type Column struct{ Name, Type string }

// A Table is a table with its columns.
type Table struct {
	Name    string
	Columns []Column
}

// An Import is a transaction that fills a PostgreSQL database.
type Import struct{ t pgx.Tx }

// ImportInto runs fill in a transaction on the PostgreSQL database at place, while no other process uses the database. It commits the
// transaction if fill returns nil. The error wraps ErrInUse if another process uses the database.
func ImportInto(ctx context.Context, place string, fill func(context.Context, *Import) error) error {
	c, err := postgresConfig(place)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return err
	}
	defer closeSoon(ctx, conn) // this releases the lock
	if err := holdAlone(ctx, conn); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, "SET LOCAL synchronous_commit = 'on'"); err != nil {
			return err
		}
		return fill(ctx, &Import{t})
	})
}

const (
	selectColumns = "SELECT CAST(c.table_name AS TEXT), CAST(c.column_name AS TEXT), CAST(c.data_type AS TEXT) " +
		"FROM information_schema.columns c WHERE c.table_schema = current_schema() ORDER BY c.table_name, c.ordinal_position"
	selectReferences = "SELECT CAST(a.relname AS TEXT), CAST(b.relname AS TEXT) FROM pg_constraint f " +
		"JOIN pg_class a ON a.oid = f.conrelid JOIN pg_class b ON b.oid = f.confrelid " +
		"WHERE f.contype = 'f' AND f.connamespace = current_schema()::regnamespace"
)

// Tables returns all tables, each after the tables to which its rows refer.
func (i *Import) Tables(ctx context.Context) ([]Table, error) {
	tables, names := map[string]*Table{}, []string{}
	var table, name, kind string
	err := i.query(ctx, selectColumns, func() {
		if tables[table] == nil {
			tables[table] = &Table{Name: table}
			names = append(names, table)
		}
		tables[table].Columns = append(tables[table].Columns, Column{name, kind})
	}, &table, &name, &kind)
	if err != nil {
		return nil, err
	}
	refers := map[string][]string{}
	if err := i.query(ctx, selectReferences, func() { refers[table] = append(refers[table], name) }, &table, &name); err != nil {
		return nil, err
	}
	var ordered []Table
	var place func(name string)
	place = func(name string) {
		t := tables[name]
		if t == nil {
			return // it has been placed
		}
		delete(tables, name)
		for _, other := range refers[name] {
			place(other)
		}
		ordered = append(ordered, *t)
	}
	for _, name := range names {
		place(name)
	}
	return ordered, nil
}

// query scans each row of a query into the destinations and then calls each.
func (i *Import) query(ctx context.Context, query string, each func(), into ...any) error {
	rows, err := i.t.Query(ctx, query)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, into, func() error {
		each()
		return nil
	})
	return err
}

// Count returns the single number that a query selects.
func (i *Import) Count(ctx context.Context, query string) (n int64, err error) {
	return n, i.t.QueryRow(ctx, query).Scan(&n)
}

// Exec runs a statement with arguments in the form of PostgreSQL: $1, $2 and so on.
func (i *Import) Exec(ctx context.Context, query string, args ...any) error {
	_, err := i.t.Exec(ctx, query, args...)
	return err
}

// Fill appends rows to a table. next returns the values of the next row, in the order of the columns, and nil after the last row.
func (i *Import) Fill(ctx context.Context, t Table, next func() ([]any, error)) error {
	columns := make([]string, 0, len(t.Columns))
	for _, c := range t.Columns {
		columns = append(columns, c.Name)
	}
	if _, err := i.t.CopyFrom(ctx, pgx.Identifier{t.Name}, columns, pgx.CopyFromFunc(next)); err != nil {
		return fmt.Errorf("copying the table %s: %w", t.Name, err)
	}
	return nil
}
