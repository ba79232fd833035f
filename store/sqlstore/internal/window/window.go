// Package window counts the units of one limit in the slots of its period. A row of the database holds the newest slots; package limit
// has the arithmetic.
package window

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
)

// A Window is the count of one limit: the units of its newest slots. The slot never moves back, so that a clock which was set back cannot
// count anything twice or lose it; such calls count in the highest slot seen. It is not safe for concurrent use.
type Window struct {
	Period limit.Period
	Slot   int64
	Counts []int64 // of Slot, Slot-1, …
	More   int64   // how many slots count in addition to those of package limit, at most Spare
	// If floored is set the window counts as exhausted for as long as slot floor matters.
	floor   int64
	floored bool
}

// Restore sets when the database was last set back to an earlier state (the zero time: never). It is unknown what was counted between
// that state and then. A lifetime counter would never be free again; it keeps the count of the state.
func (w *Window) Restore(at time.Time) {
	if at.IsZero() || w.Period == limit.Lifetime {
		return
	}
	w.floor = w.Period.Slot(at)
	w.floored = w.floor >= w.oldest()
}

// Reach moves the window to the slot of now, unless it is there or beyond.
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

// Sum returns how many units matter to an admission in the window's slot.
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

// oldest returns the first slot that matters to an admission in the window's slot.
func (w *Window) oldest() int64 { return w.Period.Oldest(w.Slot) - w.More }

// counted returns the units from the window's slot back to the oldest.
func (w *Window) counted() []int64 { return w.Counts[:min(int64(len(w.Counts)), w.Slot-w.oldest()+1)] }

// Take counts n units in the window's slot.
func (w *Window) Take(n int64) {
	if len(w.Counts) == 0 {
		w.Counts = append(w.Counts, 0)
	}
	w.Counts[0] += n
}

// Give releases n units of a slot, as far as it still counts them, and reports whether there were any.
func (w *Window) Give(slot, n int64) bool {
	i := w.Slot - slot
	if i < 0 || i >= int64(len(w.counted())) || w.Counts[i] == 0 {
		return false
	}
	w.Counts[i] -= min(n, w.Counts[i])
	return true
}

// Left returns how many more calls can be admitted in the window's slot.
func (w *Window) Left(most int64) int64 { return max(0, most-w.Sum()) }

// Resets returns the time until the oldest counted slot ends; 0: never, or nothing is counted.
func (w *Window) Resets(now time.Time) time.Duration {
	if w.floored {
		return w.until(w.floor, now)
	}
	for i, n := range slices.Backward(w.counted()) {
		if n > 0 {
			return w.until(w.Slot-int64(i), now)
		}
	}
	return 0
}

// Retry returns the time until one more call can be admitted; 0: never. A limit of 0 never admits one; for it, retry
// returns the next end of its window.
func (w *Window) Retry(most int64, now time.Time) time.Duration {
	if w.floored {
		return w.until(max(w.floor, w.Slot), now)
	}
	over := w.Sum() - (most - 1)
	for i, n := range slices.Backward(w.counted()) {
		over -= n
		if over <= 0 {
			return w.until(w.Slot-int64(i), now)
		}
	}
	return w.until(w.Slot, now)
}

// until returns the time until a slot stops counting; 0: never.
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

// ErrInvalid means that the bytes are not counts.
var ErrInvalid = errors.New("the stored counter of a limit makes no sense")

// Decode is the inverse of Encode, and returns ErrInvalid for bytes that Encode does not write.
func Decode(in []byte) ([]int64, error) {
	const slots = 72 // the widest window, with those that are kept beside it
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

// A Step is a recent change of the clock that slots are counted by.
type Step struct {
	At            time.Time // when it was seen, on the clock as it was set
	Forward, Back time.Duration
}

// Hold makes a window safe after a step of the clock, until nothing that was counted before it matters any more. After
// a step forward what was counted seems older than it is: so many more slots count, or the window counts as used up.
// After a step back calls count in the highest slot, which cannot be too many; where the clock would take longer than
// the period to return there, the window counts as used up for one period, and then begins anew.
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
