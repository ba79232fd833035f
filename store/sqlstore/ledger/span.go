package ledger

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A period extends from a time up to but not including another, in nanoseconds since 1970 UTC.
type period struct{ from, to int64 }

// period sets the missing bounds of the filter, and returns the period. It rejects a period in which the ledger is no longer complete.
func (l *Ledger) period(ctx context.Context, f *store.StatementFilter) (period, error) {
	until, err := l.deletedUntil(ctx, f.Service)
	if err != nil {
		return period{}, err
	}
	if f.From.IsZero() && until > 0 {
		f.From = engine.FromNanos(until + 1)
	}
	p := period{math.MinInt64, math.MaxInt64}
	if !f.From.IsZero() {
		p.from = engine.Nanos(f.From)
	}
	upToNow := f.To.IsZero()
	if upToNow {
		f.To = l.db.Now() // p.to stays unbounded: a clock may be ahead
	} else {
		p.to = engine.Nanos(f.To)
	}
	switch {
	case p.from >= p.to || upToNow && f.From.After(f.To):
		return period{}, fmt.Errorf("a statement from %s to %s: %w", f.From.Format(time.RFC3339), f.To.Format(time.RFC3339), store.ErrPeriod)
	case until > 0 && p.from <= until:
		return period{}, &store.ForgottenError{Kept: engine.FromNanos(until + 1)}
	}
	return p, nil
}

// deletedUntil returns the latest time of a ledger entry of a service that was deleted; 0 if there is none.
func (l *Ledger) deletedUntil(ctx context.Context, service string) (until int64, err error) {
	_, err = l.db.One(ctx, "SELECT until FROM carried WHERE service = ? ORDER BY until DESC LIMIT 1", []any{service}, &until)
	return until, err
}

// stillKept returns a *store.ForgottenError if entries of a period were deleted while it was read.
func (l *Ledger) stillKept(ctx context.Context, service string, p period) error {
	until, err := l.deletedUntil(ctx, service)
	if err == nil && until > 0 && p.from <= until {
		return &store.ForgottenError{Kept: engine.FromNanos(until + 1)}
	}
	return err
}

// A span is a part of the chain of an account: the entries from first up to but not including end.
type span struct{ first, end int64 }

// selectFirst selects the number of the first entry of a chain whose time is at or after a given time.
const selectFirst = `(SELECT l.k FROM ledger l WHERE l.service = a.service AND l.agent_id = a.agent_id AND l.at >= ?
	AND l.currency = a.currency AND l.k >= 0 ORDER BY l.at, l.seq LIMIT 1)`

const selectSpan = "SELECT COALESCE(" + selectFirst + ", a.lines), COALESCE(" + selectFirst + ", a.lines) FROM accounts a " +
	"WHERE a.service = ? AND a.agent_id = ? AND a.currency = ?"

// span returns the part of a chain that belongs to a period. The part begins with the entry that has the earliest time in the period, and
// ends before the entry that has the earliest time after the period. Each entry therefore belongs to exactly one of several adjacent
// periods, even where times are not in the order of the chain because a clock was set. No span that was read contains an entry that is made
// later.
func (l *Ledger) span(ctx context.Context, k AccountKey, p period) (span, error) {
	now := engine.Nanos(l.db.Now())
	bound := func(at int64) int64 {
		if at > now { // the period has not ended, even if a clock was ahead for some time
			return math.MaxInt64
		}
		return at
	}
	var s span
	_, err := l.db.One(ctx, selectSpan, []any{bound(p.from), bound(p.to), k.Service, k.AgentID, k.Currency}, &s.first, &s.end)
	s.end = max(s.first, s.end)
	return s, err
}

const selectEnds = "SELECT k, prev, leaf FROM ledger WHERE service = ? AND agent_id = ? AND currency = ? AND k >= 0 AND k IN (?, ?, ?)"

// chainRange returns the numbers and the heads of a part of a chain.
func (l *Ledger) chainRange(ctx context.Context, k AccountKey, s span) (evidence.Range, error) {
	leaves := map[int64]evidence.Hash{}
	args := []any{k.Service, k.AgentID, k.Currency, s.first - 1, s.first, s.end - 1}
	if err := l.db.List(ctx, selectEnds, args, func(scan engine.Scan) error {
		var n int64
		var prev, leaf []byte
		err := scan(&n, &prev, &leaf)
		leaves[n] = evidence.HashOf(leaf)
		if n == s.first && n > 0 { // the entry before it may be deleted
			leaves[n-1] = evidence.HashOf(prev)
		}
		return err
	}); err != nil {
		return evidence.Range{}, err
	}
	head := func(n int64) *evidence.Head {
		leaf, found := leaves[n]
		if !found {
			return nil
		}
		return &evidence.Head{K: n, Hash: leaf}
	}
	opening := head(s.first - 1)
	if s.first == s.end {
		return evidence.Range{Opening: opening, Closing: opening}, nil
	}
	last := s.end - 1
	return evidence.Range{From: &s.first, To: &last, Opening: opening, Closing: head(last)}, nil
}
