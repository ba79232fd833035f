package sqlstore

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	storetest "github.com/uimgate/uimgate/internal/test/store"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// slowDisk opens a database whose commits advance the clock by took.
func slowDisk(t *testing.T, path string, clock *storetest.Clock, took *time.Duration) *Store {
	t.Helper()
	d := engine.SQLite()
	send := d.Send
	d.Send = func(ctx context.Context, w *engine.Writer, list []engine.Command) error {
		if list[len(list)-1].Query == "COMMIT" {
			clock.Advance(*took)
		}
		return send(ctx, w, list)
	}
	return openTest(t, path, clock.Now, d)
}

// Calls arrive one after another on a slow disk, and each is sent as soon as it is durable.
func TestALimitPerSecondOnASlowDisk(t *testing.T) {
	t.Parallel()
	const most, seconds = 4, 60
	for _, took := range []time.Duration{time.Millisecond, 105 * time.Millisecond, 150 * time.Millisecond, 220 * time.Millisecond} {
		t.Run(took.String(), func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock(time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC))
			slow := time.Millisecond
			s := slowDisk(t, filepath.Join(t.TempDir(), "state.db"), clock, &slow)
			began := clock.Now()
			var sent []time.Time
			for clock.Now().Before(began.Add(seconds * time.Second)) {
				if clock.Now().After(began.Add(5 * time.Second)) {
					slow = took
				}
				since := clock.Now()
				clock.Advance(20 * time.Millisecond)
				a, err := s.Begin(t.Context(), freeCall("shop", most))
				if err == nil && clock.Now().Before(since.Add(a.Expires)) {
					sent = append(sent, clock.Now())
				}
			}
			for i, first := range sent {
				if n, _ := slices.BinarySearchFunc(sent, first.Add(time.Second), time.Time.Compare); n-i > most {
					t.Fatalf("%d were sent within one second from %s, of %d", n-i, first, most)
				}
			}
			if len(sent) < most*seconds/2 {
				t.Errorf("%d calls were sent in %d s, of %d a second; want at least half", len(sent), seconds, most)
			}
			t.Logf("%d sent in %d s", len(sent), seconds)
		})
	}
}

func freeCall(service string, perSecond int64) store.BeginRequest {
	return store.BeginRequest{
		Execution: store.Execution{Service: service, AgentID: "agent-1"}, Hold: time.Minute,
		Candidates: []store.Candidate{{Limits: []store.Reservation{
			{Principal: "agent-1", Limit: limit.Limit{ID: "l", Rate: limit.Rate{Max: perSecond, Period: limit.Second}}},
		}}},
	}
}

// One process has a slow disk or a slow connection to the database, and the other does not.
func TestLargestDispatchAppliesToAllProcesses(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	clock := storetest.NewClock(start)
	var took time.Duration
	path := filepath.Join(t.TempDir(), "state.db")
	s := slowDisk(t, path, clock, &took)
	begin := func() store.Admission {
		a, err := s.Begin(t.Context(), freeCall("shop", 100))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	took = 300 * time.Millisecond
	for range 2 {
		if _, err := s.Begin(t.Context(), freeCall("another", 100)); err != nil {
			t.Fatal(err)
		}
	}
	took = 0
	if a := begin(); a.Expires != 700*time.Millisecond || a.Standing[0].Resets != 1700*time.Millisecond {
		t.Errorf("six dispatch slots: %v, %v", a.Expires, a.Standing[0].Resets)
	}
	s = slowDisk(t, path, clock, &took) // a second process
	if a := begin(); a.Expires != 200*time.Millisecond || a.Standing[0].Resets != 1700*time.Millisecond {
		t.Errorf("one of six: %v, %v; want %v, %v", a.Expires, a.Standing[0].Resets, 200*time.Millisecond, 1700*time.Millisecond)
	}
	clock.Advance(time.Minute)
	if a := begin(); a.Expires != 200*time.Millisecond || a.Standing[0].Resets != 1200*time.Millisecond {
		t.Errorf("a minute later: %v, %v; want %v, %v", a.Expires, a.Standing[0].Resets, 200*time.Millisecond, 1200*time.Millisecond)
	}
}
