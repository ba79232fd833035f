package records

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// requestsAtOnce is the number of rows in one statement of IndexRequests.
const requestsAtOnce = 32

const requestColumns = "id, at, process, number, record, until, service, agent, intent, decision, reason, outcome"

// IndexRequests adds requests to the index in one transaction.
func (s *Records) IndexRequests(ctx context.Context, list []store.IndexedRequest) error {
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		for rest := list; len(rest) > 0; {
			n := 1
			if len(rest) >= requestsAtOnce {
				n = requestsAtOnce
			}
			insertRequests(ctx, t, rest[:n])
			rest = rest[n:]
		}
		return nil
	})
}

func insertRequests(ctx context.Context, t *engine.Tx, list []store.IndexedRequest) {
	args := make([]any, 0, 12*len(list))
	for i := range list {
		r := &list[i]
		args = append(args, r.ID, engine.Nanos(r.At), r.Process, r.Number, r.Record, engine.Nanos(r.Until),
			r.Service, r.Agent, r.Intent, r.Decision, r.Reason, r.Outcome)
	}
	t.Run(ctx, "INSERT INTO requests ("+requestColumns+") VALUES "+
		strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), ", len(list)), ", ")+
		" ON CONFLICT (id, at, process, number) DO NOTHING", args...)
}

func scanRequest(scan engine.Scan) (store.IndexedRequest, error) {
	var r store.IndexedRequest
	err := scan(&r.ID, engine.Stored(&r.At), &r.Process, &r.Number, &r.Record, engine.Stored(&r.Until), &r.Service, &r.Agent, &r.Intent,
		&r.Decision, &r.Reason, &r.Outcome)
	return r, err
}

// RequestsByID returns at most store.MostRequests requests with an id: the newest ones, in ascending order of time.
func (s *Records) RequestsByID(ctx context.Context, id string) ([]store.IndexedRequest, error) {
	newest, err := engine.All(ctx, s.db, "SELECT "+requestColumns+` FROM requests WHERE id = ? AND until > ?
		ORDER BY at DESC, process DESC, number DESC LIMIT ?`, []any{id, engine.Nanos(s.db.Now()), store.MostRequests}, scanRequest)
	slices.Reverse(newest)
	return newest, err
}

const newestRequests = "ORDER BY at DESC, process DESC, number DESC"

// Requests returns requests, the newest first, and the position at which the listing continues. The position is zero at the end. Requests
// reads at most store.MostRequestsRead rows of an index.
func (s *Records) Requests(ctx context.Context, f store.RequestFilter) (list []store.IndexedRequest, next store.RequestCursor, err error) {
	var q engine.Conditions
	filters := indexed(f.RequestKind)
	if len(filters) > 0 {
		first := filters[0]
		q.Add(first.column+" = ? AND "+first.column+" <> ''", first.value) // the index is partial
		filters = filters[1:]
	}
	if !f.From.IsZero() {
		q.Add("at >= ?", engine.Nanos(f.From))
	}
	if !f.To.IsZero() {
		q.Add("at < ?", engine.Nanos(f.To))
	}
	if !f.After.At.IsZero() {
		q.Add("(at, process, number) < (?, ?, ?)", engine.Nanos(f.After.At), f.After.Process, f.After.Number)
	}
	if f.Decision != "" {
		filters = append(filters, columnValue{"decision", f.Decision})
	}
	if len(filters) > 0 {
		if next, err = s.lastRequestRead(ctx, q); err != nil {
			return nil, store.RequestCursor{}, err
		}
	}
	if !next.At.IsZero() {
		q.Add("(at, process, number) >= (?, ?, ?)", engine.Nanos(next.At), next.Process, next.Number)
	}
	for _, c := range filters {
		q.Add("("+c.column+" || '') = ?", c.value) // an expression, here and below, so that planners use no other index
	}
	q.Add("until + 0 > ?", engine.Nanos(s.db.Now()))
	limit := f.Limit
	if limit <= 0 {
		limit = 100
	}
	query := q.Query("SELECT "+requestColumns+" FROM requests", newestRequests, limit)
	if list, err = engine.All(ctx, s.db, query, q.Args, scanRequest); err != nil {
		return nil, store.RequestCursor{}, err
	}
	if len(list) >= limit {
		next = list[len(list)-1].Cursor()
	}
	return list, next, nil
}

// lastRequestRead returns the position of the last row that a listing with these conditions may read. It is zero if there are fewer rows.
func (s *Records) lastRequestRead(ctx context.Context, q engine.Conditions) (c store.RequestCursor, err error) {
	_, err = s.db.One(ctx, q.Query("SELECT at, process, number FROM requests", newestRequests, 1)+
		" OFFSET "+strconv.Itoa(store.MostRequestsRead-1), q.Args, engine.Stored(&c.At), &c.Process, &c.Number)
	return c, err
}

type columnValue struct{ column, value string }

// indexed returns the filters that have an index, the most selective first.
func indexed(k store.RequestKind) (list []columnValue) {
	for _, c := range []columnValue{
		{"agent", k.Agent}, {"reason", k.Reason}, {"intent", k.Intent}, {"outcome", k.Outcome}, {"service", k.Service},
	} {
		if c.value != "" {
			list = append(list, c)
		}
	}
	return list
}
