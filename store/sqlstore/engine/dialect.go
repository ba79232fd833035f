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
	// Exclusive means that no other process writes while a transaction is open: a row need not be compared before it is written, and one
	// writer runs all operations.
	Exclusive ShareMode = iota
	// Shared means that several processes write concurrently. Calls lock nothing between reading and writing, and their changes are
	// conditional on the rows being as they were read. Every other operation has a separate transaction, so that it holds no lock while
	// another waits for one.
	Shared
)

// CountClock is the clock on which limits are counted and deadlines are measured.
type CountClock int

const (
	// ByClock is the clock of the store itself.
	ByClock CountClock = iota
	// ByAnchor is a clock of the process that never jumps.
	ByAnchor
)

// A Dialect is everything that differs between databases. Statements are written once, with `?` for arguments, ` FOR UPDATE` if a row is
// read in order to be changed, {ledger} for the next ledger number, and {whole} if the whole transaction ends with a statement that
// fails, so that the database need not be able to undo that statement alone.
type Dialect struct {
	Goose    goose.Dialect
	Sharing  ShareMode
	Counting CountClock
	// Open connects to the database, once for the writers and once for the readers.
	Open func(ctx context.Context, place string) (write, read *sql.DB, err error)
	// upgrade runs a migration of the schema while no other process does, and registers this process. nil: no coordination is necessary.
	upgrade func(ctx context.Context, place string, migrate Migration) error
	// leave ends the registration of a process that did not get as far as listening. nil: there is none.
	leave func(context.Context)
	// Schema converts a migration to the dialect's SQL. nil: unchanged.
	Schema func(string) string
	// lanes is how many writers run calls, each with a separate connection; calls of one agent go to one of them.
	lanes int
	// others is how many writers run other operations, and groups how many run those of groups. 0: those of the calls.
	others, groups int
	// Patience bounds one attempt at a transaction, and one query; CallPatience one attempt at a transaction of calls. 0: the database
	// bounds them.
	Patience, CallPatience time.Duration
	// callSettings prepares the connection of a writer that runs calls only. Empty: there is nothing to prepare.
	callSettings string
	// begin starts a transaction that may write.
	begin string
	// Clock queries the time in microseconds since 1970 UTC. Empty: the process's own clock is the store's.
	Clock string
	// unhurried removes the time bound of a transaction's queries, and makes them read one snapshot.
	unhurried []string
	// durable queries whether the database still keeps what it commits. Empty: that cannot change while it is open.
	durable string
	// notify is run in a transaction that changed something other processes must read.
	notify string
	// listen calls changed for notifications of other processes until ctx ends. nil: there are none.
	listen func(ctx context.Context, place string, changed func())
	// Rewrite converts a statement to the dialect's SQL.
	Rewrite func(string) string
	// Send runs statements in their order, in as many steps as is best for the database, and stops at the first that fails.
	Send func(ctx context.Context, w *Writer, list []Command) error
	// Retriable reports whether a failed transaction conflicted with another writer and should be repeated.
	Retriable func(error) bool
	// Lost reports whether the connection ended, so that it is unknown whether the last statements were executed.
	Lost func(error) bool
	// constraint reports whether only the one statement failed, because of the stored data or of its arguments.
	constraint func(error) bool
}

// A Migration updates a database. Before a step after which other processes could not continue, it calls alone, which returns ErrInUse if
// there are any.
type Migration func(ctx context.Context, db *sql.DB, alone func(context.Context) error) error
