package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
)

// direct runs the statements of a transaction on the connection of the driver itself: database/sql would convert, lock and copy
// for each of them.
type direct struct {
	stmts  map[string]driver.StmtExecContext
	values []driver.NamedValue // of one statement after the other
}

var errDriver = errors.New("the driver of the database prepares no statements with contexts")

// exec runs a statement, which is prepared once, and returns how many rows it changed.
func (d *direct) exec(ctx context.Context, w *writer, query string, args []any) (n int64, err error) {
	s := d.stmts[query]
	if s == nil {
		if s, err = d.prepare(ctx, w, query); err != nil {
			return 0, err
		}
	}
	if err := d.bind(args); err != nil {
		return 0, err
	}
	err = w.conn.Raw(func(any) error { // nobody else uses the connection meanwhile
		r, err := s.ExecContext(ctx, d.values)
		if err == nil {
			n, err = r.RowsAffected()
		}
		return err
	})
	clear(d.values) // which may be large
	return n, err
}

func (d *direct) prepare(ctx context.Context, w *writer, query string) (s driver.StmtExecContext, err error) {
	err = w.conn.Raw(func(conn any) error {
		c, ok := conn.(driver.ConnPrepareContext)
		if !ok {
			return errDriver
		}
		prepared, err := c.PrepareContext(ctx, w.s.dialect.rewrite(query))
		if err != nil {
			return err
		}
		if s, ok = prepared.(driver.StmtExecContext); !ok {
			return errors.Join(errDriver, prepared.Close())
		}
		return nil
	})
	if err == nil {
		set(&d.stmts, query, s)
	}
	return s, err
}

// bind makes the arguments of a statement what drivers take.
func (d *direct) bind(args []any) error {
	d.values = d.values[:0]
	for i, arg := range args {
		var value driver.Value
		switch v := arg.(type) {
		case int64, string, []byte:
			value = v
		default:
			var err error
			if value, err = driver.DefaultParameterConverter.ConvertValue(arg); err != nil {
				return err
			}
		}
		d.values = append(d.values, driver.NamedValue{Ordinal: i + 1, Value: value})
	}
	return nil
}

// close ends the statements, with their connection.
func (d *direct) close() {
	for _, s := range d.stmts {
		if s, ok := s.(driver.Stmt); ok {
			_ = s.Close()
		}
	}
	*d = direct{}
}
