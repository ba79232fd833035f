package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// A server is what a PostgreSQL database runs on. Another one, or another timeline, means that a standby was promoted or that the
// database was restored: it may lack commits.
type server struct{ system, timeline int64 }

const (
	selectServer = "SELECT system_identifier, CAST(CAST('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS BIT(32)) AS INTEGER) " +
		"FROM pg_control_system()"
	systemNote, timelineNote = "server_system", "server_timeline" // rows of sequences

	// movedPause is for how long a process takes no calls on another server: four polls, in which every other process finds what
	// it has acknowledged and the server lacks.
	movedPause = time.Second
)

// errMoved means that the process does not take calls yet.
var errMoved = errors.New("the database has moved to another server: the processes look whether it lacks anything")

// readServer starts with the server that the database has, and looks whether it is the one that it had when it was last open. Where
// the server does not tell, nothing is compared.
func (s *Store) readServer(ctx context.Context) error {
	if s.dialect.clock == "" {
		return nil
	}
	var was, is server
	err := s.list(ctx, selectSequences("", 2), []any{systemNote, timelineNote}, func(scan scan) error {
		var name string
		var n int64
		err := scan(&name, &n)
		if name == systemNote {
			was.system = n
		} else {
			was.timeline = n
		}
		return err
	})
	if err != nil {
		return err
	}
	if s.read.QueryRowContext(ctx, selectServer).Scan(&is.system, &is.timeline) != nil {
		return nil //nolint:nilerr // a server that hides it, such as a managed one
	}
	s.server.Store(&is)
	if was != is {
		s.moved.Store(was != server{})
		s.notes.set(map[string]int64{systemNote: is.system, timelineNote: is.timeline})
	}
	return nil
}

// compareServer looks whether a new connection leads to another server than the one before.
func (s *Store) compareServer(ctx context.Context, conn *sql.Conn) {
	was := s.server.Load()
	if was == nil {
		return
	}
	var is server
	if conn.QueryRowContext(ctx, selectServer).Scan(&is.system, &is.timeline) != nil || is == *was || !s.server.CompareAndSwap(was, &is) {
		return
	}
	s.movedAt.Store(int64(s.elapsed()))
	s.moved.Store(true)
	s.notes.set(map[string]int64{systemNote: is.system, timelineNote: is.timeline})
	if s.opts.Moved != nil {
		s.opts.Moved()
	}
}

// settled reports whether the processes have had time to look at a server that is new to this one.
func (s *Store) settled() bool {
	at := s.movedAt.Load()
	return at == 0 || s.elapsed()-time.Duration(at) >= movedPause
}

// Moved reports whether the database has another server, or another timeline, than it had when it was last open, or when this
// process opened it.
func (s *Store) Moved() bool { return s.moved.Load() }
