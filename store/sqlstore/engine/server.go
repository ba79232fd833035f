package engine

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
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

// serverWatch is what a process sees of the servers of its database.
type serverWatch struct {
	is      atomic.Pointer[server] // nil: it is not known
	moved   atomic.Bool
	movedAt atomic.Int64 // on the clock that only moves forward; 0: never
}

// readServer starts with the server that the database has, and looks whether it is the one that it had when it was last open. Where
// the server does not tell, nothing is compared.
func (db *DB) readServer(ctx context.Context) error {
	found, err := db.sequences(ctx, systemNote, timelineNote)
	if err != nil {
		return err
	}
	var is server
	was := server{found[systemNote], found[timelineNote]}
	if db.read.QueryRowContext(ctx, selectServer).Scan(&is.system, &is.timeline) != nil {
		return nil //nolint:nilerr // a server that hides it, such as a managed one
	}
	db.server.is.Store(&is)
	if was != is {
		db.server.moved.Store(was != server{})
		db.Note(map[string]int64{systemNote: is.system, timelineNote: is.timeline})
	}
	return nil
}

// compareServer looks whether a new connection leads to another server than the one before.
func (db *DB) compareServer(ctx context.Context, conn *sql.Conn) {
	was := db.server.is.Load()
	if was == nil {
		return
	}
	var is server
	if conn.QueryRowContext(ctx, selectServer).Scan(&is.system, &is.timeline) != nil || is == *was || !db.server.is.CompareAndSwap(was, &is) {
		return
	}
	db.server.movedAt.Store(int64(db.clocks.elapsed()))
	db.server.moved.Store(true)
	db.Note(map[string]int64{systemNote: is.system, timelineNote: is.timeline})
	if db.opts.Moved != nil {
		db.opts.Moved()
	}
}

// settled reports whether the processes have had time to look at a server that is new to this one.
func (db *DB) settled() bool {
	at := db.server.movedAt.Load()
	return at == 0 || db.clocks.elapsed()-time.Duration(at) >= movedPause
}

// Moved reports whether the database has another server, or another timeline, than it had when it was last open, or when this
// process opened it.
func (db *DB) Moved() bool { return db.server.moved.Load() }
