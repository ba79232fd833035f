package engine

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// A directStmt is a prepared statement of a driver.
type directStmt interface {
	driver.Stmt
	driver.StmtExecContext
}

// direct is like exec, without the copy of the arguments that database/sql makes for each statement. The driver must accept the types of
// driver.Value, and unnamed arguments.
func (w *Writer) direct(ctx context.Context, query string, args []any) (changed int64, err error) {
	err = w.conn.Raw(func(raw any) error {
		s, err := w.directStmt(ctx, raw, query)
		if err != nil {
			return err
		}
		w.values = w.values[:0]
		for i, arg := range args {
			switch arg.(type) {
			case int64, string, []byte, nil:
			default:
				if arg, err = driver.DefaultParameterConverter.ConvertValue(arg); err != nil {
					return err
				}
			}
			w.values = append(w.values, driver.NamedValue{Ordinal: i + 1, Value: arg})
		}
		r, err := s.ExecContext(ctx, w.values)
		if err != nil {
			return err
		}
		changed, err = r.RowsAffected()
		return err
	})
	return changed, err
}

// directStmt returns the prepared statement of the driver for a query. Each query is prepared once per connection.
func (w *Writer) directStmt(ctx context.Context, raw any, query string) (directStmt, error) {
	if s := w.directs[query]; s != nil {
		return s, nil
	}
	conn, ok := raw.(driver.ConnPrepareContext)
	if !ok {
		return nil, fmt.Errorf("a connection has the unexpected type %T", raw)
	}
	p, err := conn.PrepareContext(ctx, w.db.dialect.Rewrite(query))
	if err != nil {
		return nil, err
	}
	s, ok := p.(directStmt)
	if !ok {
		_ = p.Close()
		return nil, fmt.Errorf("a statement has the unexpected type %T", p)
	}
	w.directs[query] = s
	return s, nil
}
