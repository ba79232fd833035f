// Package sqlmail stores the data of a message relay (records of package mail) in the tables relay_* of a database of store/sqlstore,
// SQLite or PostgreSQL, beside the state of the gateway: one backup has both.
//
//	relay := sqlmail.New(state, sqlmail.Options{MaxAgents: 100_000})
//	agent, isNew, err := relay.Admit(ctx, guard, time.Minute)
//	message, repeated, err := relay.Send(ctx, sending)
//
// A method that returns without an error has stored its changes durably. Times are of the store's clock. Lists have a limit, and report
// whether there is more. Several processes may share a database: bounds of the whole relay (Options.MaxAgents, the bounds All of a
// message and of blobs) then count committed rows, so that simultaneous transactions may each exceed them by one; all bounds of one agent
// are exact. An error that does not wrap one of package mail wraps store.ErrUnavailable.
//
// Every transaction that changes which messages wait for a recipient locks its row of relay_boxes, so that messages for one recipient are
// accepted one after another and their times only grow: a reader that continues at the end of a page misses no message. Transactions lock
// signatures and agents first, then boxes, messages, blobs, idempotency keys, webhooks and totals. Pending deliveries are changed by
// holders of the recipient's box, and by claims, which wait for no row.
//
// The most frequent operations, Admit, Send and Delivered, run in rounds: those that arrive during a transaction share the next one, and
// its statements (round.go).
package sqlmail

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// Options of New.
type Options struct {
	MaxAgents int64 // maximum number of agents of the relay. Required
	// Idle is the time without a request after which an agent without data is deleted: without a profile, an entry of an access list, a
	// blob or a webhook. Its waiting messages stay, and its next request creates it again. So keys that were made only to fill the relay
	// do not keep others out. 0: never.
	Idle time.Duration
	// Arrived is called with the recipients of new messages, when those can be read. It must be fast. May be nil.
	Arrived func(recipient mail.Key)
}

// A Store is the state of one relay. It is safe for concurrent use.
type Store struct {
	db   *sqlstore.Store
	opts Options
	last atomic.Int64 // when this process last accepted a message
	// searching holds one element while a search runs, because agents are searched one search at a time.
	searching     chan struct{}
	wokenMessages wokenMessages
	rounds        *sqlstore.Group[turn]
	part          int64 // of the totals, to which rounds add
}

// New returns the state of the relay in a database. The caller closes the database.
func New(db *sqlstore.Store, o Options) *Store {
	s := &Store{db: db, opts: o, searching: make(chan struct{}, 1), part: anyPart()}
	s.rounds = sqlstore.NewGroup(db, s.round)
	return s
}

// Now returns the time of the store's clock.
func (s *Store) Now() time.Time { return s.db.Now() }

type (
	tx      = sqlstore.Tx
	command = sqlstore.Command
	scan    = func(dest ...any) error
)

var (
	nanos     = sqlstore.Nanos
	fromNanos = sqlstore.FromNanos
)

// one reads one row into dest, and reports whether there is one.
func (s *Store) one(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	found := false
	err := s.db.Rows(ctx, query, args, func(scan scan) error {
		found = true
		return scan(dest...)
	})
	return found && err == nil, err
}

// plain reports whether a name can be that of a record. Those made here are ASCII; a database cannot hold all texts that others may send.
func plain(id string) bool {
	return id != "" && utf8.ValidString(id) && !strings.Contains(id, "\x00")
}

// keyFrom reads a stored key.
func keyFrom(b []byte) (k mail.Key) {
	copy(k[:], b)
	return k
}

// orNull converts an empty text to NULL.
func orNull(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

// flag returns the stored form of a boolean.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// chunks are the numbers of values of statements, so that few statements are prepared.
var chunks = []int{64, 16, 4, 1}

// chunked divides a list into chunks.
func chunked[T any](list []T, each func([]T) error) error {
	for _, n := range chunks {
		for ; len(list) >= n; list = list[n:] {
			if err := each(list[:n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// divided divides a list into parts of few different lengths.
func divided[T any](list []T) (parts [][]T) {
	for _, n := range []int{16, 4, 1} {
		for ; len(list) >= n; list = list[n:] {
			parts = append(parts, list[:n])
		}
	}
	return parts
}

// nanosOf is a duration as a part of the statement.
func nanosOf(d time.Duration) string { return strconv.FormatInt(int64(d), 10) }

// joined repeats a part of a statement.
func joined(n int, one, by string) string { return one + strings.Repeat(by+one, n-1) }

// marks returns the places of n values, or rows, in a statement.
func marks(n int, one string) string { return joined(n, one, ", ") }

// anys appends a list to arguments.
func anys[T any](list []T, before ...any) []any {
	args := append(make([]any, 0, len(before)+len(list)), before...)
	for _, v := range list {
		args = append(args, v)
	}
	return args
}
