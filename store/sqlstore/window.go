package sqlstore

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
)

// A window is the count of one limit: the units of its newest slots. The arithmetic is that of package limit. The slot
// never moves back, so that a clock which was set back cannot count anything twice or lose it; such calls count in the
// highest slot seen.
type window struct {
	period limit.Period
	slot   int64
	counts []int64 // of slot, slot-1, …
	more   int64   // how many slots count beside those of package limit, at most Spare
	// Where floored is set the window counts as used up for as long as slot floor matters.
	floor   int64
	floored bool
}

// restore sets when the database was last set back to an earlier state (0: never). It is unknown what was counted
// between that state and then. A lifetime counter would never be free again; it keeps the count of the state.
func (w *window) restore(at int64) {
	if at == 0 || w.period == limit.Lifetime {
		return
	}
	w.floor = w.period.Slot(fromNanos(at))
	w.floored = w.floor >= w.oldest()
}

// reach moves the window to the slot of now, unless it is there or beyond.
func (w *window) reach(now time.Time) {
	k := w.period.Slot(now)
	if k <= w.slot {
		return
	}
	moved, span := k-w.slot, k-w.period.Oldest(k)+1+w.period.Spare()
	w.slot = k
	if moved >= span || len(w.counts) == 0 {
		w.counts = w.counts[:0]
		return
	}
	kept := min(int64(len(w.counts)), span-moved)
	counts := make([]int64, moved+kept)
	copy(counts[moved:], w.counts[:kept])
	w.counts = counts
}

// sum returns how many units matter to an admission in the window's slot.
func (w *window) sum() int64 {
	if w.floored {
		return limit.MaxCount
	}
	var sum int64
	for _, n := range w.counted() {
		sum += n
	}
	return sum
}

// oldest returns the first slot that matters to an admission in the window's slot.
func (w *window) oldest() int64 { return w.period.Oldest(w.slot) - w.more }

// counted returns the units from the window's slot back to the oldest.
func (w *window) counted() []int64 { return w.counts[:min(int64(len(w.counts)), w.slot-w.oldest()+1)] }

// take counts one unit in the window's slot.
func (w *window) take() {
	if len(w.counts) == 0 {
		w.counts = append(w.counts, 0)
	}
	w.counts[0]++
}

// give takes one unit back from a slot, if it still counts there.
func (w *window) give(slot int64) bool {
	i := w.slot - slot
	if i < 0 || i >= int64(len(w.counted())) || w.counts[i] == 0 {
		return false
	}
	w.counts[i]--
	return true
}

// left returns how many more calls can be admitted in the window's slot.
func (w *window) left(most int64) int64 { return max(0, most-w.sum()) }

// resets returns the time until the oldest counted slot ends; 0: never, or nothing is counted.
func (w *window) resets(now time.Time) time.Duration {
	if w.floored {
		return w.until(w.floor, now)
	}
	for i, n := range slices.Backward(w.counted()) {
		if n > 0 {
			return w.until(w.slot-int64(i), now)
		}
	}
	return 0
}

// retry returns the time until one more call can be admitted; 0: never. A limit of 0 never admits one; for it, retry
// returns the next end of its window.
func (w *window) retry(most int64, now time.Time) time.Duration {
	if w.floored {
		return w.until(max(w.floor, w.slot), now)
	}
	over := w.sum() - (most - 1)
	for i, n := range slices.Backward(w.counted()) {
		over -= n
		if over <= 0 {
			return w.until(w.slot-int64(i), now)
		}
	}
	return w.until(w.slot, now)
}

// until returns the time until a slot stops counting; 0: never.
func (w *window) until(slot int64, now time.Time) time.Duration {
	frees := w.period.Frees(slot)
	if frees.IsZero() {
		return 0
	}
	return frees.Add(time.Duration(w.more) * w.period.SlotLength()).Sub(now)
}

// encode returns the counts in the form in which they are stored.
func (w *window) encode() []byte {
	n := len(w.counts)
	for n > 0 && w.counts[n-1] == 0 {
		n--
	}
	out := make([]byte, 0, 2*n)
	for _, c := range w.counts[:n] {
		out = binary.AppendUvarint(out, uint64(c))
	}
	return out
}

var errCounter = errors.New("the stored counter of a limit makes no sense")

// decodeCounts is the inverse of encode.
func decodeCounts(in []byte) ([]int64, error) {
	const slots = 72 // the widest window, with those that are kept beside it
	var out []int64
	for len(in) > 0 {
		c, n := binary.Uvarint(in)
		if n <= 0 || c > 2*limit.MaxCount || len(out) == slots {
			return nil, errCounter
		}
		out, in = append(out, int64(c)), in[n:]
	}
	return out, nil
}

// MarkRestored must be called once after the state was set back to an earlier one, while no gateway uses it: every PAT
// issued before ends, signing keys too, and every rolling or calendar window of a policy's limit that began before counts
// as used up until it is over. Lifetime counters and limits of the service's own (limit.Token, limit.Ceiling) go on from
// the restored count. PATs end with the keys that signed them, so those without a
// record in the database end too; a process whose key has ended makes a new one when it starts.
func (s *Store) MarkRestored(ctx context.Context) error {
	return s.update(ctx, func(ctx context.Context, t *tx) error {
		seq, err := t.nextChange(ctx)
		if err != nil {
			return err
		}
		now, floor := nanos(t.now), nanos(t.counted)
		if _, err := t.exec(ctx, "UPDATE sequences SET n = ? WHERE name = 'restored'", floor); err != nil {
			return err
		}
		if _, err := t.exec(ctx, "UPDATE signing_keys SET not_after = ?, seq = ? WHERE not_after = 0 OR not_after > ?", now, seq,
			now); err != nil {
			return err
		}
		_, err = t.exec(ctx, `INSERT INTO revocations (service, kind, subject, at, until, reason, seq)
			SELECT service, CAST(? AS TEXT), digest, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT) FROM policies `+
			`WHERE true
			ON CONFLICT (service, kind, subject) DO UPDATE SET at = excluded.at, until = excluded.until, reason = excluded.reason, seq = `+
			`excluded.seq`,
			string(pat.RevokedPolicy), now, nanos(t.now.Add(pat.MaxTTL+s.opts.TokensKept)), "the state was restored", seq)
		t.after = append(t.after, func() { s.floor.Store(floor) })
		return err
	})
}

// readFloor reads when the database was last set back to an earlier state.
func (s *Store) readFloor(ctx context.Context) error {
	var at int64
	_, err := s.one(ctx, "SELECT n FROM sequences WHERE name = 'restored'", nil, &at)
	if err == nil {
		s.floor.Store(at)
	}
	return err
}
