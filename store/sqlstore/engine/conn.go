package engine

import (
	"context"
	"database/sql"
	"time"
)

// Drain calls the function each for every row until that function returns an error, and closes the rows.
func Drain(rows *sql.Rows, each func(Scan) error) error {
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

const (
	selectServer = "SELECT system_identifier, CAST(CAST('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS BIT(32)) AS INTEGER) " +
		"FROM pg_control_system()"
	systemNote, timelineNote = "server_system", "server_timeline" // names of rows of sequences

	// serverChangePause is how long a process refuses calls after the server has changed. The pause is four polls long, so that every other
	// process can find out whether the new server lacks commits that were acknowledged to that process.
	serverChangePause = time.Second
)

// compareServer checks whether a new connection reaches a different server than the previous connection, and if so records the change.
func (db *DB) compareServer(ctx context.Context, conn *sql.Conn) {
	was := db.server.is.Load()
	if was == nil {
		return
	}
	var is server
	if conn.QueryRowContext(ctx, selectServer).Scan(&is.system, &is.timeline) != nil || is == *was || !db.server.is.CompareAndSwap(was, &is) {
		return
	}
	db.server.serverChangedAt.Store(int64(db.clocks.elapsed()))
	db.server.serverChanged.Store(true)
	db.Note(map[string]int64{systemNote: is.system, timelineNote: is.timeline})
	if db.opts.ServerChanged != nil {
		db.opts.ServerChanged()
	}
}

// connect gives the writer a connection, and reports whether it was used before.
func (w *Writer) connect(ctx context.Context) (reused bool, err error) {
	if w.conn == nil {
		w.link = w.db.links.take(w.settings)
	}
	if w.conn != nil {
		return true, nil
	}
	conn, err := w.db.write.Conn(ctx)
	if err != nil {
		return false, err
	}
	w.link, w.version = link{conn, map[string]*sql.Stmt{}, map[string]directStmt{}}, 0
	if w.settings != "" {
		if _, err := conn.ExecContext(ctx, w.settings); err != nil {
			return false, err
		}
	}
	if w.witness != nil {
		w.db.compareServer(ctx, conn)
	}
	return false, nil
}

// selectVersion reads a number that changes when another connection commits changes, but not when this connection does:
// https://sqlite.org/pragma.html#pragma_data_version
const selectVersion = "PRAGMA data_version"

// beginAlone starts a transaction on an Exclusive database. Other processes cannot write until the transaction ends. If another connection
// has written since the last transaction, beginAlone drops the state in memory.
func (w *Writer) beginAlone(ctx context.Context) error {
	var version int64
	err := w.send(ctx, []Command{
		{Query: w.db.dialect.begin},
		{Query: selectVersion, Row: func(scan Scan) error { return scan(&version) }},
	})
	if version != w.version && w.db.Layer != nil {
		w.db.Layer.Forget()
	}
	w.version = version
	return err
}

// abort rolls back a failed transaction and closes its connection. After some failures, such as a full disk or an I/O error, the database
// has already rolled back, and a further statement would run outside the transaction.
func (w *Writer) abort(ctx context.Context, why error) {
	if w.db.Layer != nil && w.db.dialect.Sharing == Exclusive {
		w.db.Layer.Forget()
	}
	if w.conn == nil {
		return
	}
	if w.db.dialect.Lost(why) {
		w.db.links.discard()
	} else {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = w.exec(ctx, "ROLLBACK") // fails if the database has already rolled back
	}
	w.close()
	w.link = link{}
}

// drop returns the connection to the pool.
func (w *Writer) drop() {
	if w.conn != nil {
		w.release()
		w.link = link{}
	}
}

// send runs statements in order: see Dialect.Send.
func (w *Writer) send(ctx context.Context, list []Command) error {
	if len(list) == 0 {
		return nil
	}
	return w.db.dialect.Send(ctx, w, list)
}

// stmt returns the prepared statement for a query. Each query is prepared once per connection.
func (w *Writer) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := w.stmts[query]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(ctx, w.db.dialect.Rewrite(query))
	if err != nil {
		return nil, err
	}
	w.stmts[query] = s
	return s, nil
}

// exec runs a statement and returns how many rows it changed.
func (w *Writer) exec(ctx context.Context, query string, args ...any) (int64, error) {
	s, err := w.stmt(ctx, query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// query runs a statement and calls the function each for every row of the result.
func (w *Writer) query(ctx context.Context, query string, args []any, each func(Scan) error) error {
	s, err := w.stmt(ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return Drain(rows, each)
}
