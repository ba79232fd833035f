package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/pressly/goose/v3"
)

// A dialect is all that differs between databases. Statements are written once, with `?` for
// arguments, ` FOR UPDATE` where a row is read to be changed, and {ledger} for the next ledger number.
type dialect struct {
	goose goose.Dialect
	// open connects to the database, once for the writers and once for the readers.
	open func(ctx context.Context, place string) (write, read *sql.DB, err error)
	// upgrade runs a migration of the schema while no other process does. nil: there is nothing to wait for.
	upgrade func(ctx context.Context, place string, migrate func(context.Context, *sql.DB) error) error
	// schema turns a migration into the dialect's own words. nil: as it is.
	schema func(string) string
	// lanes is how many writers take calls, each with a connection of its own; calls of one agent go to one of them.
	lanes int
	// others is how many writers take what is no call. 0: the same as take calls.
	others int
	// alone: what is no call has a transaction of its own, so that it holds no lock while another waits for one.
	alone bool
	// patience bounds one attempt at a transaction, and one question. 0: the database bounds them.
	patience time.Duration
	// begin starts a transaction that may write.
	begin string
	// clock asks for the time in microseconds since 1970 UTC. Empty: the process's own clock is the store's.
	clock string
	// notify is run in a transaction that changed what others must learn.
	notify string
	// listen waits for what notify tells until ctx ends. nil: nobody else tells anything.
	listen func(ctx context.Context, place string, told func())
	// rewrite turns a statement into the dialect's own.
	rewrite func(string) string
	// send runs statements in their order, as few at a time as the database makes worth it, and stops at the first that fails.
	send func(ctx context.Context, w *writer, list []command) error
	// again reports whether a failed transaction lost to another writer and is worth repeating.
	again func(error) bool
	// lost reports whether the connection ended, so that nobody knows whether what was sent last was done.
	lost func(error) bool
	// constraint reports whether only the one statement failed, because of what is stored already, or of what it was given.
	constraint func(error) bool
}

// ledgerNumber is what {ledger} stands for: the number that bumpLedger has just given out. The row stays locked until the
// transaction ends, so that numbers appear in the order of commits and none is missing.
const (
	ledgerNumber = "(SELECT n FROM sequences WHERE name = 'ledger')"
	bumpLedger   = "UPDATE sequences SET n = n + ? WHERE name = 'ledger'"
)

// A command is one statement of several that are sent together.
type command struct {
	query string
	args  []any
	row   func(scan) error // is called with every row; nil: it answers none
}
