package limit_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
)

// Agents see waits that are at most a slot longer than the period.
func TestShownWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		period     limit.Period
		wait, want time.Duration
	}{
		{limit.Hour, 62 * time.Minute, 61 * time.Minute},
		{limit.Hour, 59 * time.Minute, 59 * time.Minute},
		{limit.Second, 1200 * time.Millisecond, 1100 * time.Millisecond},
		{limit.Month, 31 * 24 * time.Hour, 31 * 24 * time.Hour},
		{limit.Lifetime, 0, 0},
	} {
		if got := (limit.Rate{Max: 1, Period: tt.period}).Shown(tt.wait); got != tt.want {
			t.Errorf("%s, %s: got %s, want %s", tt.period, tt.wait, got, tt.want)
		}
	}
	for _, p := range []limit.Period{limit.Second, limit.Minute, limit.Hour, limit.Day, limit.Week} {
		r := limit.Rate{Max: 1, Period: p}
		began := p.Begins(p.Slot(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)))
		longest := p.Frees(p.Slot(began)).Sub(began)
		if wait := r.Shown(longest); longest-wait > p.SlotLength() {
			t.Errorf("%s: an agent that waits %s is refused again for %s", p, wait, longest-wait)
		}
	}
}
