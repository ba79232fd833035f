// Package sqlmail stores the data of a message relay (the records of package mail) in the tables relay_* of a database of store/sqlstore,
// SQLite or PostgreSQL. The state of the gateway is in the same database, so one backup contains both.
//
//	relay := sqlmail.New(state, sqlmail.Options{MaxAgents: 100_000})
//	agent, isNew, err := relay.Admit(ctx, guard, time.Minute)
//	message, repeated, err := relay.Send(ctx, sending)
//
// If a method returns no error, its changes are stored durably. Times are from the store's clock. Methods that return lists have a limit,
// and report whether there are more records. Several processes may share a database. The limits of the whole relay (Options.MaxAgents, and
// All in the limits for messages and blobs) count committed rows, so each of several concurrent transactions may exceed them by one record.
// All limits of one agent are exact. An error that does not wrap an error of package mail wraps store.ErrUnavailable.
//
// A transaction that changes which messages wait for a recipient locks the recipient's row of relay_boxes. So messages for one recipient
// are accepted one after another with increasing times, and a reader that continues at the end of a page does not miss a message.
// Transactions lock signatures and agents first, and then boxes, messages, blobs, idempotency keys, webhooks and totals. Pending
// deliveries are changed by transactions that have locked the recipient's box, and by claims, which do not wait for rows.
//
// The most frequent operations, Admit, Send and Delivered, run in rounds: calls that arrive during a transaction share the next
// transaction and its statements (round.go).
package sqlmail

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Options are the options of New.
type Options struct {
	MaxAgents int64 // maximum number of agents of the relay; required
	// Idle is the time without a request after which an agent is deleted if it has no profile, access-list entry, blob or webhook. Messages
	// that wait for the agent stay, and its next request creates the agent again. So keys that someone creates only to fill the relay do not
	// keep other agents out. 0 means never.
	Idle time.Duration
	// Arrived is called with the recipient of each new message as soon as the message can be read. It must be fast. It may be nil.
	Arrived func(recipient mail.Key)
}

// A Store is the state of one relay. It is safe for concurrent use.
type Store struct {
	state *sqlstore.Store
	db    *engine.DB
	opts  Options
	last  atomic.Int64 // time of the last message that this process accepted
	// searching contains one element while a search runs, because only one search runs at a time.
	searching     chan struct{}
	wokenMessages wokenMessages
	rounds        *engine.Group[turn]
	part          int64 // the part of the totals to which the rounds of this process add
}

// New returns a Store for the relay whose state is in a database. The caller closes the database.
func New(db *sqlstore.Store, o Options) *Store {
	s := &Store{state: db, db: db.Engine(), opts: o, searching: make(chan struct{}, 1), part: anyPart()}
	s.rounds = engine.NewGroup(s.db, s.round)
	return s
}

// Now returns the time of the store's clock.
func (s *Store) Now() time.Time { return s.db.Now() }

type (
	tx      = *engine.Tx
	command = engine.Command
	scan    = engine.Scan
)

var (
	nanos     = engine.Nanos
	fromNanos = engine.FromNanos
	timeTo    = engine.Stored
)

// plain reports whether a string can be the id of a record. A database cannot store every string that others may send.
func plain(id string) bool {
	return id != "" && utf8.ValidString(id) && !strings.Contains(id, "\x00")
}

// orNull converts a string to bytes, and an empty string to NULL.
func orNull(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

// chunks are the possible numbers of values in a statement. The list is short, so that few statements are prepared.
var chunks = []int{64, 16, 4, 1}

// chunked divides a list into parts whose lengths are in chunks.
func chunked[T any](list []T) (parts [][]T) { return dividedBy(list, chunks) }

// divided divides a list into parts with few different lengths.
func divided[T any](list []T) (parts [][]T) { return dividedBy(list, []int{16, 4, 1}) }

// dividedBy divides a list into parts of the given lengths, the longest first. The last length is 1.
func dividedBy[T any](list []T, lengths []int) (parts [][]T) {
	for _, n := range lengths {
		for ; len(list) >= n; list = list[n:] {
			parts = append(parts, list[:n])
		}
	}
	return parts
}

// nanosOf returns a duration in nanoseconds as an SQL literal.
func nanosOf(d time.Duration) string { return strconv.FormatInt(int64(d), 10) }

// joined returns n copies of one, a part of a statement, with by between them.
func joined(n int, one, by string) string { return one + strings.Repeat(by+one, n-1) }

// marks returns the placeholders of n values or rows.
func marks(n int, one string) string { return joined(n, one, ", ") }

// anys appends the elements of a list to arguments.
func anys[T any](list []T, before ...any) []any {
	args := append(make([]any, 0, len(before)+len(list)), before...)
	for _, v := range list {
		args = append(args, v)
	}
	return args
}
