package records

import (
	"context"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// requestsAtOnce is the number of rows in one statement of IndexRequests.
const requestsAtOnce = 32

// IndexRequests adds requests to the index in one transaction.
func (s *Records) IndexRequests(ctx context.Context, list []store.IndexedRequest) error {
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		for rest := list; len(rest) > 0; {
			n := 1
			if len(rest) >= requestsAtOnce {
				n = requestsAtOnce
			}
			if err := insertRequests(ctx, t, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	})
}

func insertRequests(ctx context.Context, t *engine.Tx, list []store.IndexedRequest) error {
	args := make([]any, 0, 6*len(list))
	for i := range list {
		r := &list[i]
		args = append(args, r.ID, engine.Nanos(r.At), r.Process, r.Number, r.Record, engine.Nanos(r.Until))
	}
	_, err := t.Exec(ctx, "INSERT INTO requests (id, at, process, number, record, until) VALUES "+
		strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?), ", len(list)), ", ")+
		" ON CONFLICT (id, at, process, number) DO NOTHING", args...)
	return err
}

// RequestsByID returns the newest requests with an id, the oldest of them first, at most store.MostRequests.
func (s *Records) RequestsByID(ctx context.Context, id string) ([]store.IndexedRequest, error) {
	newest, err := engine.All(ctx, s.db, `SELECT id, at, process, number, record, until FROM requests WHERE id = ? AND until > ?
		ORDER BY at DESC, process DESC, number DESC LIMIT ?`, []any{id, engine.Nanos(s.db.Now()), store.MostRequests},
		func(scan engine.Scan) (store.IndexedRequest, error) {
			var r store.IndexedRequest
			var at, until int64
			err := scan(&r.ID, &at, &r.Process, &r.Number, &r.Record, &until)
			r.At, r.Until = engine.FromNanos(at), engine.FromNanos(until)
			return r, err
		})
	slices.Reverse(newest)
	return newest, err
}
