package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
)

// A Rewind describes the last restore of a database to an earlier state. The zero value means that the database was never restored.
type Rewind struct {
	at    int64 // by the clock for limits
	hold  Hold
	limit store.RestoredLimits
}

// A Hold defines which windows are held back because of a restore. The zero value holds back none.
type Hold struct {
	Since     time.Time // by the clock for limits; zero: nothing is held back
	Allowance int64     // the percentage of a limit per month or year that counts as used
	agents    int64     // agents that were created later, by the clock of the store, were not in the restored state
}

// Knows reports whether an agent with this time of creation was in the restored state.
func (h Hold) Knows(created int64) bool { return created <= h.agents }

// restoredNotes are the rows of the sequences table that describe the last restore. The rows after the first are valid only if restored_for
// is equal to restored: a program of an earlier release writes only the first one.
var restoredNotes = []string{
	"restored", "restored_for", "restored_limits", "restored_allowance", "restored_since", "restored_agents",
}

// restoredFrom returns the restore that the rows of the sequences table describe.
func restoredFrom(rows map[string]int64) Rewind {
	r := Rewind{at: rows["restored"]}
	switch {
	case r.at == 0:
		return Rewind{}
	case rows["restored_for"] != r.at:
		r.limit = store.DefaultRestoredLimits()
		r.hold = Hold{FromNanos(r.at), r.limit.Allowance, math.MaxInt64}
		return r
	}
	r.limit.Mode = store.RestoreUsed
	if n := rows["restored_limits"]; n >= 0 && n < int64(len(store.RestoreModes)) {
		r.limit.Mode = store.RestoreModes[n]
	}
	r.limit.Allowance = rows["restored_allowance"]
	r.hold = Hold{FromNanos(rows["restored_since"]), r.limit.Allowance, rows["restored_agents"]}
	return r
}

func (r Rewind) rows() map[string]int64 {
	return map[string]int64{
		"restored": r.at, "restored_for": r.at, "restored_limits": int64(slices.Index(store.RestoreModes, r.limit.Mode)),
		"restored_allowance": r.hold.Allowance, "restored_since": Nanos(r.hold.Since), "restored_agents": r.hold.agents,
	}
}

// moved returns the restore for a clock that is ahead of the previous one by the given duration.
func (r Rewind) moved(by time.Duration) Rewind {
	if r.at != 0 {
		r.at += int64(by)
	}
	if !r.hold.Since.IsZero() {
		r.hold.Since = r.hold.Since.Add(by)
	}
	return r
}

// lastRestored returns the last restore that this process has read.
func (db *DB) lastRestored() Rewind {
	if r := db.restored.Load(); r != nil {
		return *r
	}
	return Rewind{}
}

// Floor returns when the state was last restored to an earlier one, for example from a backup, by the clock for limits. It returns
// the zero time if that never happened.
func (db *DB) Floor() time.Time { return FromNanos(db.lastRestored().at) }

// Hold returns which windows are held back because of the last restore.
func (db *DB) Hold() Hold { return db.lastRestored().hold }

// ReadFloor reads when the database was last restored to an earlier state.
func (db *DB) ReadFloor(ctx context.Context) error {
	read, err := db.sequences(ctx, restoredNotes...)
	if err == nil {
		r := restoredFrom(read)
		db.restored.Store(&r)
	}
	return err
}

// raiseFloor records the last restore, if another process has restored the database since this process last read it.
func (db *DB) raiseFloor(next Rewind) {
	for {
		known := db.restored.Load()
		if known != nil && next.at <= known.at || known == nil && next.at == 0 {
			return
		}
		if db.restored.CompareAndSwap(known, &next) {
			db.noteSetBack(FromNanos(next.at), 0)
			return
		}
	}
}

// raiseFloor is like DB.raiseFloor. If the transaction has seen a later restore, it reads the rest of the description of that restore in
// the transaction.
func (t *Tx) raiseFloor(ctx context.Context) error {
	if t.seen.floor <= t.w.db.lastRestored().at {
		return nil
	}
	args := make([]any, len(restoredNotes))
	for i, name := range restoredNotes {
		args[i] = name
	}
	found := map[string]int64{}
	err := t.w.query(ctx, selectSequences("", len(args)), args, numbers(found))
	if err == nil {
		t.w.db.raiseFloor(restoredFrom(found))
	}
	return err
}

var errRestoredLimits = errors.New("use used, backup or fresh, and an allowance of 0 to 100%")

// MarkRestored records that the state was restored to an earlier one, and calls DB.Restore in the same transaction.
func (t *Tx) MarkRestored(ctx context.Context, l store.RestoredLimits) error {
	if !slices.Contains(store.RestoreModes, l.Mode) || l.Allowance < 0 || l.Allowance > 100 {
		return fmt.Errorf("restoring: limits %q with an allowance of %d%%: %w", l.Mode, l.Allowance, errRestoredLimits)
	}
	next := Rewind{at: Nanos(t.times.counted), limit: l}
	agents := t.w.db.Restore(ctx, t, l)
	switch l.Mode {
	case store.RestoreUsed:
		next.hold = Hold{FromNanos(next.at), l.Allowance, max(agents, Nanos(t.times.now))}
	case store.RestoreBackup, store.RestoreFresh: // they also end the hold of an earlier restore, so that an operator can choose again
	}
	t.After(func() { t.w.db.restored.Store(&next) })
	return t.Note(ctx, next.rows())
}

// HeldLimits returns the limits that are held back at present because of a restore or a step of the clock, as far as this process knows.
func (db *DB) HeldLimits() store.HeldLimits {
	last, step, now := db.lastRestored(), db.clocks.steps.Last(), db.Counted()
	out := store.HeldLimits{Limits: last.limit, By: step.Forward - step.Back}
	out.Restored = store.LimitHold{At: FromNanos(last.at), Periods: heldPeriods(last.hold.Since, now, limit.Period.Rolling)}
	if last.hold.Allowance > 0 {
		out.Restored.Periods = append(out.Restored.Periods, heldPeriods(last.hold.Since, now, limit.Period.Calendar)...)
	}
	if step.Forward != 0 || step.Back != 0 {
		out.Stepped = store.LimitHold{At: step.At, Periods: heldPeriods(step.At, now, limit.Period.Rolling)}
	}
	return out
}

// heldPeriods returns the periods of a kind whose windows still contain the time since.
func heldPeriods(since, now time.Time, kind func(limit.Period) bool) (list []store.HeldPeriod) {
	if since.IsZero() {
		return nil
	}
	for _, p := range []limit.Period{limit.Second, limit.Minute, limit.Hour, limit.Day, limit.Week, limit.Month, limit.Year} {
		if until := p.Frees(p.Slot(since)); kind(p) && until.After(now) {
			list = append(list, store.HeldPeriod{Period: p, Until: until})
		}
	}
	return list
}
