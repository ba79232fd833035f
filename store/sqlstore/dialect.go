package sqlstore

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/uimgate/uimgate/store/sqlstore/internal/bulk"
)

// A dialect is everything that differs between databases. Statements are written once, with `?` for arguments, ` FOR
// UPDATE` where a row is read to be changed, {ledger} for the next ledger number, and {whole} where the whole transaction
// ends with a statement that fails, so that the database need not be able to undo that statement alone.
type dialect struct {
	goose goose.Dialect
	// open connects to the database, once for the writers and once for the readers.
	open func(ctx context.Context, place string) (write, read *sql.DB, err error)
	// upgrade runs a migration of the schema while no other process does, and registers this process. nil: no coordination is
	// necessary.
	upgrade func(ctx context.Context, place string, migrate migration) error
	// leave ends the registration of a process that did not come as far as to listen. nil: there is none.
	leave func(context.Context)
	// schema converts a migration to the dialect's SQL. nil: unchanged.
	schema func(string) string
	// lanes is how many writers run calls, each with a connection of its own; calls of one agent go to one of them.
	lanes int
	// others is how many writers run other operations. 0: those of the calls.
	others int
	// groups is how many writers run the operations of groups. 0: those of the calls.
	groups int
	// unlocked means that calls lock nothing between reading and writing. See ifUnchanged.
	unlocked bool
	// alone means that an operation which is neither a call nor of a group has a transaction of its own, so that it holds no lock while
	// another waits for one.
	alone bool
	// sole means that nobody else writes while a transaction is open, so that a row need not be as it was read to be written.
	sole bool
	// journals means that what calls change is one row of the journal first; see known.
	journals bool
	// patience bounds one attempt at a transaction, and one query. 0: the database bounds them.
	patience time.Duration
	// callPatience bounds one attempt at a transaction of calls. 0: the database bounds it.
	callPatience time.Duration
	// callSettings prepares the connection of a writer that runs calls only. Empty: there is nothing to prepare.
	callSettings string
	// begin starts a transaction that may write.
	begin string
	// clock queries the time in microseconds since 1970 UTC. Empty: the process's own clock is the store's.
	clock string
	// unhurried lets the queries of a transaction take their time, and read what is there at one moment.
	unhurried []string
	// durable queries whether the database still keeps what it commits. Empty: that cannot change while it is open.
	durable string
	// anchored means that limits are counted on a clock of the process that never jumps.
	anchored bool
	// notify is run in a transaction that changed something other processes have to read.
	notify string
	// listen calls changed for notifications of other processes until ctx ends. nil: there are none.
	listen func(ctx context.Context, place string, told func())
	// rewrite converts a statement to the dialect's SQL.
	rewrite func(string) string
	// send runs statements in their order, in as many steps as is best for the database, and stops at the first that
	// fails.
	send func(ctx context.Context, w *writer, list []command) error
	// retriable reports whether a failed transaction conflicted with another writer and should be repeated.
	retriable func(error) bool
	// lost reports whether the connection ended, so that it is unknown whether the last statements were executed.
	lost func(error) bool
	// constraint reports whether only the one statement failed, because of the stored data or of its arguments.
	constraint func(error) bool
}

// A migration brings a database up to date. Before it does what other processes could not go on after, it calls alone, which returns
// ErrInUse where there are any.
type migration func(ctx context.Context, db *sql.DB, alone func(context.Context) error) error

// ledgerNumber replaces {ledger}: the number that bumpLedger has just returned. The row stays locked until the
// transaction ends, so that numbers become visible in the order of commits and none is missing.
const (
	ledgerNumber = "(SELECT n FROM sequences WHERE name = 'ledger')"
	bumpLedger   = "UPDATE sequences SET n = n + ? WHERE name = 'ledger'"
)

// A command is one statement of several that are sent together.
type command struct {
	query string
	args  []any
	row   func(scan) error // called with every row; nil: it returns none
	must  int              // how many rows it has to change, else the transaction fails; 0: any number
}

// chunks are how many rows one statement writes, so that few statements are prepared.
var chunks = []int{16, 4, 2, 1}

// chunked divides a list into chunks.
func chunked[T any](list []T, each func([]T)) {
	for _, n := range chunks {
		for ; len(list) >= n; list = list[n:] {
			each(list[:n])
		}
	}
}

// together joins insertions into one table to statements with several rows. Where anything but insertions is among
// them, their order counts, and they stay as they are.
func together(list []command) []command {
	if len(list) < 2 || slices.ContainsFunc(list, func(c command) bool { return !strings.HasPrefix(c.query, "INSERT") }) {
		return list
	}
	var queries []string // in the order in which they come first
	groups := map[string][]command{}
	for _, c := range list {
		if groups[c.query] == nil {
			queries = append(queries, c.query)
		}
		groups[c.query] = append(groups[c.query], c)
	}
	out := list[:0:0]
	for _, query := range queries {
		chunked(groups[query], func(same []command) { out = append(out, rowsOf(query, same)) })
	}
	return out
}

// rowsOf makes one insertion of several; the query ends with its row, or with what is done where that is there already.
func rowsOf(query string, same []command) command {
	if len(same) == 1 {
		return same[0]
	}
	args := make([]any, 0, len(same)*len(same[0].args))
	for _, c := range same {
		args = append(args, c.args...)
	}
	query, conflict, _ := strings.Cut(whole(query), " ON CONFLICT ")
	query = bulk.Insertion(query, len(same))
	if conflict != "" {
		query += " ON CONFLICT " + conflict
	}
	return command{query: query, args: args}
}

// whole makes an insertion one that ends the transaction where it fails.
func whole(query string) string { return strings.Replace(query, "INSERT ", "INSERT {whole}", 1) }

// inserted returns the insertions of rows; j is nil where every value is bound by itself.
func inserted(j *bulk.Joiner, query string, rows *bulk.Rows) (list []command) {
	rows.Each(chunks, func(n int, values []any) {
		text := query
		if n > 1 {
			text, values = j.Join(whole(query), n, values)
		}
		list = append(list, command{query: text, args: values})
	})
	return list
}

// Times outside the range of nanoseconds are stored as the nearest in range, which is still far away.
var (
	firstTime = time.Unix(0, math.MinInt64+1)
	lastTime  = time.Unix(0, math.MaxInt64)
)

// nanos converts a time for storage: nanoseconds since 1970 UTC, and 0 for the zero time.
func nanos(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Before(firstTime):
		return math.MinInt64 + 1
	case t.After(lastTime):
		return math.MaxInt64
	default:
		return t.UnixNano()
	}
}

// fromNanos is the inverse of nanos.
func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// blob makes an empty value not NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
