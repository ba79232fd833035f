package sqlstore

import (
	"context"
	"database/sql"
)

// one reads one row outside the writers.
func (s *Store) one(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	found := false
	err := s.list(ctx, query, args, func(scan scan) error {
		if found {
			return nil
		}
		found = true
		return scan(dest...)
	})
	return found && err == nil, err
}

// list reads rows outside the writers. It repeats the query where an idle connection has ended.
func (s *Store) list(ctx context.Context, query string, args []any, each func(scan) error) error {
	if d := s.dialect.patience; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	began := false
	counted := func(scan scan) error {
		began = true
		return each(scan)
	}
	err := s.ask(ctx, query, args, counted)
	if err != nil && !began && s.dialect.lost(err) && ctx.Err() == nil {
		err = s.ask(ctx, query, args, counted)
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

func (s *Store) ask(ctx context.Context, query string, args []any, each func(scan) error) error {
	rows, err := s.read.QueryContext(ctx, s.dialect.rewrite(query), args...)
	if err != nil {
		return err
	}
	return drain(rows, each)
}

// A scan is the Scan of a row.
type scan func(dest ...any) error

func drain(rows *sql.Rows, each func(scan) error) error {
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			_ = rows.Close()
			return err
		}
	}
	if err := rows.Err(); err != nil {
		_ = rows.Close()
		return err
	}
	return rows.Close()
}
