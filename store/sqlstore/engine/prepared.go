package engine

import (
	"context"
	"database/sql"
	"sync"
)

// maxPrepared is how many queries of readers a database prepares once for each connection. It prepares any further query for each use.
const maxPrepared = 128

// readQueries are the prepared queries of the readers of a database.
type readQueries struct {
	mu    sync.Mutex
	stmts map[string]*sql.Stmt
}

// ask runs a query of a reader. SQLite takes longer to prepare most queries than to run them; the driver of PostgreSQL caches statements
// itself.
func (db *DB) ask(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if db.dialect.Sharing != Exclusive {
		return db.read.QueryContext(ctx, query, args...)
	}
	s, err := db.prepared.stmt(ctx, db.read, query)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return db.read.QueryContext(ctx, query, args...)
	}
	return s.QueryContext(ctx, args...)
}

// stmt returns the prepared statement for a query, or nil if there are maxPrepared others. Closing the connections closes the statements.
func (q *readQueries) stmt(ctx context.Context, on *sql.DB, query string) (*sql.Stmt, error) {
	s, full := q.known(query)
	if s != nil || full {
		return s, nil
	}
	s, err := on.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if other := q.stmts[query]; other != nil || len(q.stmts) >= maxPrepared { // others prepared queries in the meantime
		_ = s.Close()
		return other, nil
	}
	if q.stmts == nil {
		q.stmts = map[string]*sql.Stmt{}
	}
	q.stmts[query] = s
	return s, nil
}

func (q *readQueries) known(query string) (s *sql.Stmt, full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stmts[query], len(q.stmts) >= maxPrepared
}
