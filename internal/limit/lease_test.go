package limit_test

import (
	"math"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
)

func TestSlice(t *testing.T) {
	for _, c := range []struct{ left, wanted, waiting, want int64 }{
		{0, 10, 10, 0},
		{-5, 10, 10, 0},
		{1, 0, 0, 1},
		{1, 10, 10, 1},
		{800, 0, 0, 1},
		{800, 30, 1, 30},
		{800, 500, 1, 100},
		{801, 500, 1, 101},
		{8, 500, 1, 1},
		{9, 500, 1, 2},
		{800, 10, 64, 64},
		{5, 500, 64, 5},
		{math.MaxInt64, math.MaxInt64, 1, math.MaxInt64/8 + 1},
		{10, -3, -3, 1},
	} {
		if got := limit.Slice(c.left, c.wanted, c.waiting); got != c.want {
			t.Errorf("Slice(%d, %d, %d) = %d; want %d", c.left, c.wanted, c.waiting, got, c.want)
		}
	}
}

func TestEndsIsTheFirstInstantAfterTheSlot(t *testing.T) {
	now := time.Date(2026, 12, 31, 23, 59, 59, 987_654_321, time.UTC)
	for _, p := range []limit.Period{limit.Second, limit.Minute, limit.Hour, limit.Day, limit.Week} {
		k := p.Slot(now)
		ends := p.Ends(k)
		if p.Slot(ends) != k+1 || p.Slot(ends.Add(-time.Nanosecond)) != k {
			t.Errorf("%s: slot %d does not end at %s", p, k, ends)
		}
		if want := p.Expires(k); ends.Add(p.SlotLength()) != want {
			t.Errorf("%s: a grant lives until %s, not one slot more than %s", p, want, ends)
		}
	}
	for _, p := range []limit.Period{limit.Month, limit.Year, limit.Lifetime} {
		if !p.Ends(3).IsZero() || p.SlotLength() != 0 {
			t.Errorf("%s has no slots of a length", p)
		}
	}
}
