package engine

import (
	"database/sql"
	"database/sql/driver"
	"maps"
	"sync"

	"github.com/jackc/pgx/v5/stdlib"
)

// A link is a connection, with the statements that were prepared on it. The zero value has no connection.
type link struct {
	conn    *sql.Conn
	stmts   map[string]*sql.Stmt
	directs map[string]directStmt
}

func (l link) closeStatements() {
	for _, s := range l.stmts {
		_ = s.Close()
	}
	for _, s := range l.directs {
		_ = s.Close()
	}
}

// release closes the prepared statements, and returns the connection to the pool.
func (l link) release() {
	l.closeStatements()
	_ = l.conn.Close()
}

// close closes the connection.
func (l link) close() {
	l.closeStatements()
	_ = l.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = l.conn.Close()
}

// links are the connections that no writer of a Shared database uses, by the SQL that prepared them. Writers with the same SQL share them,
// so that a process has as many connections as it has had concurrent transactions.
type links struct {
	mu   sync.Mutex
	idle map[string][]link
}

// take returns the connection that was used last, or the zero value if there is none.
func (l *links) take(settings string) (last link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.idle[settings]); n > 0 {
		last, l.idle[settings] = l.idle[settings][n-1], l.idle[settings][:n-1]
	}
	return last
}

func (l *links) all() (list []link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for idle := range maps.Values(l.idle) {
		list = append(list, idle...)
	}
	l.idle = nil
	return list
}

// release returns all connections to the pool.
func (l *links) release() {
	for _, one := range l.all() {
		one.release()
	}
}

// discard closes all connections. It is called when another connection was lost, since these have probably ended too, and the server may be
// unreachable: discard does not wait for it.
func (l *links) discard() {
	for _, one := range l.all() {
		_ = one.conn.Raw(func(raw any) error {
			if c, ok := raw.(*stdlib.Conn); ok {
				_ = c.Conn().PgConn().Conn().Close()
			}
			return nil
		})
		one.close()
	}
}

// lend lets other writers of a Shared database use the connection.
func (w *Writer) lend() {
	if w.conn == nil || w.db.dialect.Sharing == Exclusive {
		return
	}
	l := &w.db.links
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle == nil {
		l.idle = map[string][]link{}
	}
	l.idle[w.settings] = append(l.idle[w.settings], w.link)
	w.link = link{}
}
