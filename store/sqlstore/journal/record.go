package journal

import (
	"errors"
	"hash/crc32"
	"math"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// A record begins with its version and the checksum (CRC-32C, big endian) of the rest: the time, the lines, the counters, the accounts, the
// pools and the agreements. Each list follows its length. Numbers are varints of encoding/binary. A string is written as 0 and the string
// itself, which gets the next number, starting from 1; a repeated string is written as its number. Ids of executions are strings without a
// number, and so are digests and documents. Hashes are written as their 32 bytes. Times are in nanoseconds: the time of the record since
// 1970 UTC, the time of a pool as in its table, and all others since the time of the record, modulo 2^64.
const (
	version   = 3
	unchained = 1 // the version of a release without chains; it is only read
	headerLen = 1 + crc32.Size
)

// MaxRecord is the maximum size of a record, in bytes. Changes that do not fit are written directly into the tables.
const MaxRecord = 1 << 20

// Errors of Decode.
var (
	// ErrDamaged means that bytes are not a record, or have changed since they were written.
	ErrDamaged error = damage("a record of the journal is damaged")
	// ErrVersion means that a record was written by another version of this program.
	ErrVersion = errors.New("a record of the journal was written by another version of uimgate: start that version again, and " +
		"shut it down properly")
)

// damage is an error that matches engine.ErrDamaged.
type damage string

func (d damage) Error() string { return string(d) }

func fromNanos(n int64) time.Time { return time.Unix(0, n).UTC() }

// valid reports whether a record is consistent. Only consistent records are written and read.
func valid(r *calls.Changes) bool {
	for _, l := range r.Lines {
		if !r.Unchained && (l.K < 0 || (l.K == 0) != l.Prev.IsZero() || l.Leaf.IsZero()) || !validLine(l, r.At) {
			return false
		}
	}
	for i := range r.Counters {
		if p := r.Counters[i].Period; !p.Rolling() && !p.Calendar() && p != limit.Lifetime {
			return false
		}
	}
	for i := range r.Accounts {
		if a := &r.Accounts[i]; a.ToppedUp < 0 || a.Held < 0 || a.Captured < 0 || a.Lines < 0 || a.Currency == "" {
			return false
		}
	}
	for i := range r.Pools {
		if p := &r.Pools[i]; p.Owed < 0 || p.Faded < 0 || p.Currency == "" {
			return false
		}
	}
	return true
}

func validLine(l ledger.Line, at time.Time) bool {
	e := l.Execution
	if e.ID == "" || e.Charge.Nano <= 0 || e.Charge.Currency == "" {
		return false
	}
	now := nanos(at)
	if l.From == "" {
		return e.State == store.Held && e.Outcome == "" && e.IdempotencyKey == "" && nanos(e.BeganAt) == now &&
			e.SettledAt.IsZero() && e.UnresolvedAt.IsZero()
	}
	switch e.Outcome {
	case store.NotSent, store.Failed, store.Done, store.Unknown:
	default:
		return false
	}
	settled, unresolved := !e.SettledAt.IsZero(), !e.UnresolvedAt.IsZero()
	switch e.State {
	case store.Captured, store.Released:
		known := l.From == store.Held && !unresolved || l.From == store.Unresolved && unresolved
		return known && settled && nanos(e.SettledAt) == now
	case store.Unresolved:
		return l.From == store.Held && !settled && unresolved && nanos(e.UnresolvedAt) == now
	default:
		return false
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The kinds of a line.
const (
	lineBegan byte = 1 + iota
	lineChanged
)

// nanos converts a time to nanoseconds since 1970 UTC. A time that is out of range becomes the nearest representable one.
func nanos(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	default:
		return t.UnixNano()
	}
}
