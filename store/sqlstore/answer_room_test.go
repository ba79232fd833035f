package sqlstore

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	storetest "github.com/uimgate/uimgate/internal/test/store"
	"github.com/uimgate/uimgate/store"
)

// An engineTest is a test with a new database and its own clock.
type engineTest struct {
	*testing.T
	store *Store
	clock *storetest.Clock
}

// onEachEngine runs a test on a database of each kind.
func onEachEngine(t *testing.T, at time.Time, run func(engineTest)) {
	t.Helper()
	for name, place := range map[string]func() string{
		"SQLite":     func() string { return filepath.Join(t.TempDir(), "state.db") },
		"PostgreSQL": func() string { return pgtest.Start(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock(at)
			s, err := OpenByClock(t.Context(), place(), Options{Now: clock.Now})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			run(engineTest{t, s, clock})
		})
	}
}

func TestStoredAnswersAreBounded(t *testing.T) {
	t.Parallel()
	onEachEngine(t, time.Now(), func(on engineTest) {
		t, s, clock := on.T, on.store, on.clock
		s.Bounds.AnswersOfAgent, s.Bounds.Answers = 250, 600
		n := 0
		kept := func(agent, key string) bool {
			t.Helper()
			n++
			r := unapproved(agent, fmt.Sprintf("%06d", n), 1000)
			r.Execution.IdempotencyKey = key
			admission, err := s.Begin(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			answer := &store.Answer{Output: make([]byte, 90), Message: "0123456789"}
			if _, err := s.Settle(t.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done, Answer: answer}); err != nil {
				t.Fatal(err)
			}
			r.Execution.ID += "again"
			again, err := s.Begin(t.Context(), r)
			if err != nil || again.Replay == nil {
				t.Fatalf("again: %+v, %v", again, err)
			}
			return again.Replay.Answer != nil
		}
		want := func(agent string, want ...bool) {
			t.Helper()
			for i, w := range want {
				if got := kept(agent, fmt.Sprintf("k%d", i)); got != w {
					t.Errorf("%s, answer %d: kept %v; want %v", agent, i, got, w)
				}
			}
		}
		want("a", true, true, false, false)
		want("b", true, true, false)
		want("c", true, true)
		want("d", false)
		clock.Advance(25 * time.Hour)
		if !kept("a", "k0") { // replaces the expired answer
			t.Error("the answer of an expired key still counts")
		}
		if _, err := s.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		want("e", true, true, false)
		want("b", true, true, false)
		want("a", true, true, false)
	})
}
