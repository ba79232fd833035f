package upkeep

import (
	"context"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// steps repeats a step until it finds fewer than engine.StepRows rows. Each step runs in a separate transaction.
func steps(ctx context.Context, run transact, step func(context.Context, *engine.Tx) (int, error)) (int, error) {
	return engine.Steps(engine.StepRows, func() (n int, err error) {
		err = run(ctx, func(ctx context.Context, t *engine.Tx) error {
			n, err = step(ctx, t)
			return err
		})
		return n, err
	})
}

// A transact runs an operation in a transaction: DB.Update or DB.Aside.
type transact func(ctx context.Context, run func(context.Context, *engine.Tx) error) error

// found reads up to maxRows rows outside a transaction, so that the search does not delay writers, and then calls forget for each of
// them in a transaction. It repeats this until fewer than maxRows rows are deleted. forget reports whether it deleted the row, which may
// have changed since it was read. The argument of the query is at, and the query must have the order of an index.
func (u *Upkeep) found(ctx context.Context, maxRows, columns int, query string, at time.Time,
	forget func(context.Context, *engine.Tx, []string) (bool, error),
) (int, error) {
	query += " LIMIT " + strconv.Itoa(maxRows)
	return engine.Steps(maxRows, func() (n int, err error) {
		var rows [][]string
		err = u.db.List(ctx, query, []any{engine.Nanos(at)}, func(scan engine.Scan) error {
			row := make([]string, columns)
			dest := make([]any, columns)
			for i := range row {
				dest[i] = &row[i]
			}
			rows = append(rows, row)
			return scan(dest...)
		})
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		err = u.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error {
			n = 0
			for _, row := range rows {
				gone, err := forget(ctx, t, row)
				if err != nil {
					return err
				}
				n += int(engine.Flag(gone))
			}
			return nil
		})
		return n, err
	})
}
