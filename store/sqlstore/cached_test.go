package sqlstore_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// pair opens a database twice, as two processes would.
func pair(t *testing.T, name string) (a, b *sqlstore.Store) {
	t.Helper()
	if name == "postgres" {
		place := freshDatabase(t)
		return openShared(t, place), openShared(t, place)
	}
	path := t.TempDir() + "/state.db"
	return openShared(t, path), openShared(t, path)
}

func charged(id string) store.BeginRequest {
	return store.BeginRequest{
		Execution:  store.Execution{ID: id, Service: "s", AgentID: "a", IdempotencyKey: "key-" + id, Intent: "i"},
		Candidates: []store.Candidate{{Charge: money.Amount{Nano: 1, Currency: "USD"}}},
		Billing:    store.Billing{Credit: money.Amount{Nano: money.Unit, Currency: "USD"}},
		Hold:       time.Minute, KeyFor: time.Hour,
	}
}

var captured = store.Settlement{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{Output: []byte(`{"n":1}`)}}

// A settlement relies on the cached execution, and does not read the record.
func TestSettleReadsNoRecord(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s, _ := pair(t, engine)
			seen := sqlstore.Statements(s)
			admission, err := s.Begin(t.Context(), charged("1"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Settle(t.Context(), admission, captured); err != nil {
				t.Fatal(err)
			}
			for _, query := range seen() {
				if strings.HasPrefix(query, "SELECT id, service, agent_id, idem_key") {
					t.Errorf("a settlement read its record: %s", query)
				}
			}
		})
	}
}

// If another process has settled a call, Settle reports that, and the other calls of the transaction are settled.
func TestSecondSettlementReturnsErrSettled(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s, other := pair(t, engine)
			const calls = 12
			var admissions [calls]store.Admission
			for i := range admissions {
				var err error
				if admissions[i], err = s.Begin(t.Context(), charged(string(rune('a'+i)))); err != nil {
					t.Fatal(err)
				}
			}
			released := store.Settlement{State: store.Released, Outcome: store.Failed}
			if _, err := other.Settle(t.Context(), admissions[3], released); err != nil {
				t.Fatal(err)
			}
			unknown := store.Settlement{State: store.Unresolved, Outcome: store.Unknown}
			if _, err := other.Settle(t.Context(), admissions[7], unknown); err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for i := range admissions {
				all.Go(func() {
					got, err := s.Settle(t.Context(), admissions[i], captured)
					want, state := error(nil), store.Captured
					if i == 3 {
						want, state = store.ErrSettled, store.Released
					}
					if !errors.Is(err, want) || got.State != state {
						t.Errorf("call %d: %v, %s; want %v, %s", i, err, got.State, want, state)
					}
				})
			}
			all.Wait()
			accounts, err := s.Accounts(t.Context(), store.Filter{Service: "s"})
			if err != nil || len(accounts) != 1 || accounts[0].Captured.Nano != calls-1 || accounts[0].Held.Nano != 0 {
				t.Errorf("got %+v, %v; want no error, length 1, [0].Captured.Nano %v and [0].Held.Nano 0", accounts, err, calls-1)
			}
			if err := s.CheckBalance(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
