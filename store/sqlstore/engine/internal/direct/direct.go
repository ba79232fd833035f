// Package direct runs statements that write on the connection of a driver itself.
package direct

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// A Runner runs the statements of one connection, each prepared once: database/sql would convert, lock and copy for each of them.
// It is not safe for concurrent use. The zero value is one that has prepared nothing.
type Runner struct {
	stmts  map[string]driver.StmtExecContext
	values []driver.NamedValue // of one statement after the other
}

var errDriver = errors.New("the driver of the database prepares no statements with contexts")

// Exec runs a statement, which rewrite converts when it is first prepared, and returns how many rows it changed. Nobody else may use
// the connection meanwhile.
func (d *Runner) Exec(ctx context.Context, conn *sql.Conn, rewrite func(string) string, query string, args []any) (n int64, err error) {
	s := d.stmts[query]
	if s == nil {
		if s, err = d.prepare(ctx, conn, rewrite, query); err != nil {
			return 0, err
		}
	}
	if err := d.bind(args); err != nil {
		return 0, err
	}
	err = conn.Raw(func(any) error {
		r, err := s.ExecContext(ctx, d.values)
		if err == nil {
			n, err = r.RowsAffected()
		}
		return err
	})
	clear(d.values) // which may be large
	return n, err
}

func (d *Runner) prepare(ctx context.Context, conn *sql.Conn, rewrite func(string) string, query string) (
	s driver.StmtExecContext, err error,
) {
	err = conn.Raw(func(raw any) error {
		c, ok := raw.(driver.ConnPrepareContext)
		if !ok {
			return errDriver
		}
		prepared, err := c.PrepareContext(ctx, rewrite(query))
		if err != nil {
			return err
		}
		if s, ok = prepared.(driver.StmtExecContext); !ok {
			return errors.Join(errDriver, prepared.Close())
		}
		return nil
	})
	if err == nil {
		if d.stmts == nil {
			d.stmts = map[string]driver.StmtExecContext{}
		}
		d.stmts[query] = s
	}
	return s, err
}

// bind makes the arguments of a statement what drivers take.
func (d *Runner) bind(args []any) error {
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

// Close ends the statements, with their connection.
func (d *Runner) Close() {
	for _, s := range d.stmts {
		if s, ok := s.(driver.Stmt); ok {
			_ = s.Close()
		}
	}
	*d = Runner{}
}
