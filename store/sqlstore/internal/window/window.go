// Package window counts the units of a limit in the slots of its period. A row of the database contains the newest slots. Package limit has
// the arithmetic of slots.
package window

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
)

// A Window is the count of a limit: the units in its newest slots. If the clock is set back, the slot of the window does not move back, and
// calls are counted in the highest slot reached; so no unit is lost or counted twice. Only Hold may move the slot back. A Window is not
// safe for concurrent use.
type Window struct {
	Period limit.Period
	Slot   int64
	Counts []int64 // of Slot, Slot-1, …
	More   int64   // how many slots count in addition to those of the period, at most Spare
	// If floored is set, the window counts as exhausted for as long as the slot floor counts.
	floor     int64
	floored   bool
	restored  bool  // because of a restore
	allowance int64 // the percentage of the limit that counts as used because of a restore
}

// Restore sets when the database was last restored to an earlier state; the zero time means never. The calls between that state and the
// restore are unknown, so a rolling window counts as exhausted for as long as the slot of the restore counts. Under that rule, a calendar
// window could stay exhausted for a year. It therefore keeps the restored count, and allowance percent of its limit also count as used
// until the calendar month or year of the restore ends. A lifetime counter keeps the restored count.
func (w *Window) Restore(at time.Time, allowance int64) {
	slot := w.Period.Slot(at)
	switch counts := slot >= w.oldest(); {
	case at.IsZero() || w.Period == limit.Lifetime || !counts:
	case w.Period.Calendar():
		w.allowance = allowance
	default:
		w.floor, w.floored, w.restored = slot, true, true
	}
}

// Restored reports whether the window refuses a call of the limit only because of a restore, as far as is known.
func (w *Window) Restored(most int64) bool {
	return w.restored || w.allowance > 0 && w.Sum() < most && w.Left(most) == 0
}

// usable returns how many units of a limit are left for calls, apart from those that count as used because of a restore.
func (w *Window) usable(most int64) int64 { return most - (most*w.allowance+99)/100 }

// Reach moves the window forward to the slot of now. It never moves the window back.
func (w *Window) Reach(now time.Time) {
	k := w.Period.Slot(now)
	if k <= w.Slot {
		return
	}
	moved, span := k-w.Slot, k-w.Period.Oldest(k)+1+w.Period.Spare()
	w.Slot = k
	if moved >= span || len(w.Counts) == 0 {
		w.Counts = w.Counts[:0]
		return
	}
	kept := min(int64(len(w.Counts)), span-moved)
	counts := make([]int64, moved+kept)
	copy(counts[moved:], w.Counts[:kept])
	w.Counts = counts
}

// Sum returns how many units count for an admission in the window's slot: limit.MaxCount if the window counts as exhausted.
func (w *Window) Sum() int64 {
	if w.floored {
		return limit.MaxCount
	}
	var sum int64
	for _, n := range w.counted() {
		sum += n
	}
	return sum
}

// oldest returns the first slot that counts for an admission in the window's slot.
func (w *Window) oldest() int64 { return w.Period.Oldest(w.Slot) - w.More }

// counted returns the units of the slots that count, from the window's slot back to the oldest.
func (w *Window) counted() []int64 { return w.Counts[:min(int64(len(w.Counts)), w.Slot-w.oldest()+1)] }

// Take counts n units in the window's slot.
func (w *Window) Take(n int64) {
	if len(w.Counts) == 0 {
		w.Counts = append(w.Counts, 0)
	}
	w.Counts[0] += n
}

// Give releases up to n units of a slot, if the slot still counts, and reports whether it released any.
func (w *Window) Give(slot, n int64) bool {
	i := w.Slot - slot
	if i < 0 || i >= int64(len(w.counted())) || w.Counts[i] == 0 {
		return false
	}
	w.Counts[i] -= min(n, w.Counts[i])
	return true
}

// Left returns how many more calls can be admitted in the window's slot.
func (w *Window) Left(most int64) int64 { return max(0, w.usable(most)-w.Sum()) }

// Resets returns the time until the oldest slot with units stops counting. It returns 0 if that is never, or if there are no units.
func (w *Window) Resets(now time.Time) time.Duration {
	switch {
	case w.floored:
		return w.until(w.floor, now)
	case w.allowance > 0:
		return w.until(w.Slot, now)
	}
	for i, n := range slices.Backward(w.counted()) {
		if n > 0 {
			return w.until(w.Slot-int64(i), now)
		}
	}
	return 0
}

// Retry returns the time until one more call can be admitted, or 0 if that is never. A limit of 0 never admits a call; for it, Retry
// returns the time until the window's slot stops counting.
func (w *Window) Retry(most int64, now time.Time) time.Duration {
	if w.floored {
		return w.until(max(w.floor, w.Slot), now)
	}
	over := w.Sum() - (w.usable(most) - 1)
	for i, n := range slices.Backward(w.counted()) {
		over -= n
		if over <= 0 {
			return w.until(w.Slot-int64(i), now)
		}
	}
	return w.until(w.Slot, now)
}

// until returns the time until a slot stops counting, or 0 if that is never.
func (w *Window) until(slot int64, now time.Time) time.Duration {
	frees := w.Period.Frees(slot)
	if frees.IsZero() {
		return 0
	}
	return frees.Add(time.Duration(w.More) * w.Period.SlotLength()).Sub(now)
}

// Encode returns the stored form of the counts.
func (w *Window) Encode() []byte {
	n := len(w.Counts)
	for n > 0 && w.Counts[n-1] == 0 {
		n--
	}
	out := make([]byte, 0, 2*n)
	for _, c := range w.Counts[:n] {
		out = binary.AppendUvarint(out, uint64(c))
	}
	return out
}

// ErrInvalid means that bytes are not encoded counts.
var ErrInvalid = errors.New("the stored counter of a limit is invalid")

// Decode is the inverse of Encode, and returns ErrInvalid for bytes that are not encoded counts.
func Decode(in []byte) ([]int64, error) {
	const slots = 72 // the slots of the widest window, including the spare ones
	var out []int64
	for len(in) > 0 {
		c, n := binary.Uvarint(in)
		if n <= 0 || c > 2*limit.MaxCount || len(out) == slots {
			return nil, ErrInvalid
		}
		out, in = append(out, int64(c)), in[n:]
	}
	return out, nil
}

// A Step is a recent jump of the clock that determines slots.
type Step struct {
	At            time.Time // when it was detected, by the clock after the step
	Forward, Back time.Duration
}

// Hold adjusts a window after a step of the clock, so that the limit is not exceeded. The adjustment lasts until no unit from before
// the step counts. After a step forward, units seem older than they are: more slots then count or, if that is not enough,
// the window counts as exhausted. After a step back, calls are counted in the highest slot, which is safe. If the clock would take longer
// than the period to return to that slot, the window counts as exhausted for one period, and then starts again.
func (w *Window) Hold(s Step, now time.Time) {
	if !w.Period.Rolling() || s.Forward == 0 && s.Back == 0 {
		return
	}
	k, seen, length := w.Period.Slot(now), w.Period.Slot(s.At), w.Period.SlotLength()
	settled := seen < w.Period.Oldest(k)-w.Period.Spare() || seen > k+1
	far := s.Back > time.Duration(w.Period.Seconds())*time.Second
	if far && w.Slot > k {
		w.Slot, w.Counts = k, nil
	}
	if settled {
		return
	}
	more := int64((s.Forward + length - 1) / length)
	if !far && w.More+more <= w.Period.Spare() {
		w.More += more
		return
	}
	w.floor, w.floored = max(w.floor, seen), true
}
