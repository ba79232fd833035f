package engine

import (
	"context"
	"database/sql"
	"time"

	"github.com/pressly/goose/v3"
)

// ShareMode determines who may write to a database.
type ShareMode int

const (
	// Exclusive means that no other process writes while a transaction is open. The store need not check whether a row has changed before it
	// writes the row, and a single writer runs all operations.
	Exclusive ShareMode = iota
	// Shared means that several processes write concurrently. The first attempts at a transaction of calls lock no rows, and their changes
	// take effect only if the rows have not changed since they were read. Later attempts lock the rows. Every operation that is neither a call
	// nor part of a group has a separate transaction, so that it does not hold locks while another operation waits for a lock.
	Shared
)

// CountClock determines the clock for limits and deadlines.
type CountClock int

const (
	// ByClock is the clock of the store.
	ByClock CountClock = iota
	// ByAnchor is a clock of the process that never jumps.
	ByAnchor
)

// A Dialect is everything that differs between databases. Statements are written once, with `?` for arguments, and ` FOR UPDATE` if they
// read a row that is going to be changed. {ledger} is the ledger number that was last allocated. {whole} means that a failure of the
// statement ends the whole transaction; the database then need not be able to undo the statement alone.
type Dialect struct {
	Goose    goose.Dialect
	Sharing  ShareMode
	Counting CountClock
	// Open opens two pools of connections to the database: one for the writers, one for the readers.
	Open func(ctx context.Context, place string) (write, read *sql.DB, err error)
	// upgrade runs a migration of the schema over the pool of the writers while no other process does, and registers this process. It is nil
	// if no coordination is necessary.
	upgrade func(ctx context.Context, place string, write *sql.DB, migrate Migration) error
	// leave ends the registration of a process that has not started to listen. It is nil if processes are not registered.
	leave func(context.Context)
	// Schema converts a migration to the dialect's SQL. If it is nil, migrations are not converted.
	Schema func(string) string
	// lanes is how many writers run calls, each with a separate connection. All calls of an agent go to the same writer.
	lanes int
	// others is how many writers run other operations, and groups is how many run the operations of groups. If either is 0, the first writer
	// of calls also runs these operations.
	others, groups int
	// Patience is the time limit of one attempt at a transaction, and of one query. CallPatience is the time limit of one attempt at a
	// transaction of calls. In both, 0 means that the database has its own limit.
	Patience, CallPatience time.Duration
	// callSettings is SQL that prepares the connection of a writer of calls. It may be empty.
	callSettings string
	// begin starts a transaction that may write.
	begin string
	// Clock is a query for the time of the database, in microseconds since 1970 UTC. If it is empty, the store uses the clock of the process.
	Clock string
	// unhurried are statements that remove the time limit of a transaction's queries, and make these queries read one snapshot.
	unhurried []string
	// durable is a query that returns whether commits are still durable, and whether each of them waits for synchronous standbys. It is empty
	// if neither can change while the database is open.
	durable string
	// notify is a statement that runs in each transaction whose changes other processes must read.
	notify string
	// listen calls changed for each notification of another process until ctx ends. It is nil if there are no notifications.
	listen func(ctx context.Context, place string, changed func())
	// Rewrite converts a statement to the dialect's SQL.
	Rewrite func(string) string
	// Send runs statements in order, in as few round trips as the database permits, and stops at the first that fails.
	Send func(ctx context.Context, w *Writer, list []Command) error
	// Retriable reports whether a failed transaction conflicted with another writer and should be repeated.
	Retriable func(error) bool
	// Lost reports whether an error means that the connection ended. It is then unknown whether the last statements were executed.
	Lost func(error) bool
	// constraint reports whether a statement failed only because of the stored data or its arguments.
	constraint func(error) bool
}

// A Migration updates the schema of a database. Before a step that other processes cannot survive, it calls the parameter alone, which
// returns ErrInUse if other processes use the database.
type Migration func(ctx context.Context, db *sql.DB, alone func(context.Context) error) error
