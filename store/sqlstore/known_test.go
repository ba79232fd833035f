package sqlstore

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// The cache of a writer always agrees with the database: another connection or an operation that is not a call may have changed the
// database, and a transaction may have failed.
func TestCacheAgreesWithDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   string // on another connection
		by   func(s *Store) error
		want error // of the next call
	}{
		"nothing":                                {},
		"counter changed by another connection":  {do: "UPDATE counters SET counts = x'64'", want: &store.LimitError{}},
		"account changed by another connection":  {do: "UPDATE accounts SET captured = 100", want: store.ErrCredit},
		"accounts deleted by another connection": {do: "DELETE FROM accounts; DELETE FROM ledger; DELETE FROM counters"},
		"top-up": {do: "UPDATE accounts SET captured = 150", by: func(s *Store) error {
			_, err := s.TopUp(t.Context(), store.TopUp{Service: "s", AgentID: "a", Amount: money.Amount{Nano: 100, Currency: "USD"}})
			return err
		}},
		"restore": {by: func(s *Store) error { return s.MarkRestored(t.Context(), store.DefaultRestoredLimits()) }},
		"failed transaction": {by: func(s *Store) error {
			again := unapproved("a", "1", 100) // its record exists already
			again.Billing.Unapproved = false
			if _, err := s.Begin(t.Context(), again); !errors.Is(err, store.ErrUnavailable) {
				return fmt.Errorf("the same record twice: %w", err)
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.db")
			s := openTest(t, path, time.Now, engine.SQLite())
			call := func(n int) error {
				r := unapproved("a", strconv.Itoa(n), 100)
				r.Billing.Unapproved = false
				admission, err := s.Begin(t.Context(), r)
				if err == nil {
					_, err = s.Settle(t.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done})
				}
				return err
			}
			for n := range 3 {
				if err := call(n); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.CheckBalance(t.Context()); err != nil { // writes all changes into the tables
				t.Fatal(err)
			}
			if c.do != "" {
				beside(t, path, c.do)
			}
			if c.by != nil {
				if err := c.by(s); err != nil {
					t.Fatal(err)
				}
			}
			err := call(4)
			_, limited := errors.AsType[*store.LimitError](err)
			_, wanted := errors.AsType[*store.LimitError](c.want)
			if limited != wanted || !wanted && !errors.Is(err, c.want) {
				t.Errorf("the next call: %v, want %v", err, c.want)
			}
		})
	}
}
