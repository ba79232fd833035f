package sqlstore_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
)

// If a clock was slow when the process started and is corrected later, the next process must not lose the counts.
func TestClockCorrectedBeforeRestartKeepsCounts(t *testing.T) {
	t.Parallel()
	monthEnds := time.Date(2026, 10, 31, 23, 59, 20, 0, time.UTC)
	for name, c := range map[string]struct {
		by    time.Duration
		most  int64
		per   limit.Period
		start time.Time
		after time.Duration // until the limit admits as many calls again
	}{
		"a second":             {by: 70 * time.Second, most: 20, per: limit.Second, after: 2 * time.Second},
		"part of a second":     {by: 700 * time.Millisecond, most: 20, per: limit.Second, after: 2 * time.Second},
		"a minute":             {by: 70 * time.Second, most: 150, per: limit.Minute, after: 64 * time.Second},
		"an hour":              {by: 70 * time.Second, most: 50, per: limit.Hour, after: 64 * time.Minute},
		"an hour, 26 years":    {by: 26 * 365 * 24 * time.Hour, most: 50, per: limit.Hour, after: 64 * time.Minute},
		"a month that ends":    {by: 70 * time.Second, most: 50, per: limit.Month, start: monthEnds, after: 31 * 24 * time.Hour},
		"a month, half a year": {by: 180 * 24 * time.Hour, most: 50, per: limit.Month, after: 31 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, place := newMachine(), filepath.Join(t.TempDir(), "state.db")
			if !c.start.IsZero() {
				m.wall.Advance(c.start.Sub(m.wall.Now()))
			}
			s := m.open(t, place)
			if n := admitted(t, s, c.most, c.per); n != int(c.most) {
				t.Fatalf("%d admitted of %d; want %v", n, c.most, int(c.most))
			}
			m.wall.Advance(c.by)
			for range 3 {
				if n := admitted(t, s, c.most, c.per); n != 0 {
					t.Errorf("%d admitted after the clock was set", n)
				}
				closeStore(t, s)
				s = m.open(t, place)
			}
			if n := admitted(t, s, c.most, c.per); n != 0 {
				t.Errorf("after reopening: %d more admitted of %d a %s; want 0", n, c.most, c.per)
			}
			m.pass(c.after)
			if n := admitted(t, s, c.most, c.per); n != int(c.most) {
				t.Errorf("after %v: %d admitted of %d a %s; want %v", c.after, n, c.most, c.per, int(c.most))
			}
			closeStore(t, s)
		})
	}
}

// Counters of long periods are moved by whole slots, so that their slots begin up to one slot after the new time. The clock must not jump
// to that time at the next start; otherwise the counts of short periods would expire.
func TestCorrectedClockDoesNotJumpOnRestart(t *testing.T) {
	t.Parallel()
	m, place := newMachine(), filepath.Join(t.TempDir(), "state.db")
	m.wall.Advance(time.Date(2026, 10, 31, 12, 0, 5, 0, time.UTC).Sub(m.wall.Now()))
	s := m.open(t, place)
	if n := admitted(t, s, 1, limit.Week); n != 1 {
		t.Fatalf("%d admitted, want 1", n)
	}
	for range 3 {
		m.wall.Advance(70 * time.Second)
		if n := admitted(t, s, 20, limit.Second); n > 20 {
			t.Fatalf("%d admitted, want at most 20", n)
		}
		for range 3 {
			closeStore(t, s)
			s = m.open(t, place)
			if n := admitted(t, s, 20, limit.Second); n != 0 {
				t.Errorf("%d more admitted within a second, want 0", n)
			}
		}
		m.pass(3 * time.Second)
	}
	closeStore(t, s)
}

// The wall clock may be set any number of times. Only the final difference counts.
func TestClockSetForwardAndBackBlocksNothing(t *testing.T) {
	t.Parallel()
	m, place := newMachine(), filepath.Join(t.TempDir(), "state.db")
	s := m.open(t, place)
	if n := admitted(t, s, 50, limit.Hour); n != 50 {
		t.Fatalf("%d admitted, want 50", n)
	}
	for range 4 {
		m.wall.Advance(3 * time.Hour)
		admitted(t, s, 50, limit.Hour)
		m.wall.Advance(-3 * time.Hour)
		admitted(t, s, 50, limit.Hour)
	}
	closeStore(t, s)
	m.pass(62 * time.Minute) // the process is stopped
	s = m.open(t, place)
	if n := admitted(t, s, 50, limit.Hour); n != 50 {
		t.Errorf("an hour later: %d admitted of 50, want 50", n)
	}
	closeStore(t, s)
}

// A call is held until its deadline, even if the wall clock is set or the process restarts.
func TestCallDeadlineIgnoresWallClock(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"forward": 2 * time.Hour, "a little": 30 * time.Second, "back": -3 * time.Hour} {
		for _, restart := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m, place := newMachine(), filepath.Join(t.TempDir(), "state.db")
				s := m.open(t, place)
				r := oneOf(9)
				r.Execution.ID, r.Execution.IdempotencyKey, r.KeyFor = "e", "key", 24*time.Hour
				r.Candidates[0].Charge = money.Amount{Currency: "USD", Nano: 5}
				r.Billing.Credit = money.Amount{Currency: "USD", Nano: 100}
				if _, err := s.Begin(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				m.wall.Advance(by)
				m.pass(59 * time.Second)
				again := func() error {
					r.Execution.ID = "f"
					_, err := s.Begin(t.Context(), r)
					return err
				}
				reopen := func() {
					if restart {
						closeStore(t, s)
						s = m.open(t, place)
					}
				}
				reopen()
				if n, err := s.Sweep(t.Context()); n != 0 || err != nil {
					t.Errorf("after 59 of 60 seconds %d calls have no known outcome, %v", n, err)
				}
				if err := again(); !errors.Is(err, store.ErrInProgress) {
					t.Errorf("after 59 of 60 seconds: %v, want %v", err, store.ErrInProgress)
				}
				m.pass(time.Second)
				reopen()
				if err := again(); !errors.Is(err, store.ErrOutcomeUnknown) {
					t.Errorf("after 60 seconds: %v, want %v", err, store.ErrOutcomeUnknown)
				}
				if n, err := s.Sweep(t.Context()); n != 1 || err != nil {
					t.Errorf("after 60 seconds %d calls have no known outcome, %v", n, err)
				}
				closeStore(t, s)
			})
		}
	}
}

// An idempotency key is kept for a day, not until the wall clock has been set by a day.
func TestIdempotencyKeyIgnoresWallClock(t *testing.T) {
	t.Parallel()
	m, place := newMachine(), filepath.Join(t.TempDir(), "state.db")
	s := m.open(t, place)
	r := oneOf(9)
	r.Execution.ID, r.Execution.IdempotencyKey, r.KeyFor = "e", "key", 24*time.Hour
	admission, err := s.Begin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Settle(t.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done}); err != nil {
		t.Fatal(err)
	}
	m.wall.Advance(25 * time.Hour)
	for range 2 {
		if _, err := s.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Execution.ID = "f"
		if a, err := s.Begin(t.Context(), r); err != nil || a.Replay == nil || a.Replay.ID != "e" {
			t.Errorf("%+v, %v; want the call that was made", a, err)
		}
		closeStore(t, s)
		s = m.open(t, place)
	}
	m.pass(24 * time.Hour)
	if a, err := s.Begin(t.Context(), r); err != nil || a.Replay != nil {
		t.Errorf("a day later: %+v, %v; want a new call", a, err)
	}
	closeStore(t, s)
}
