package sqlstore_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// After a transfer, limits, stored answers, accounts and the chain of the ledger continue where they were.
func TestATransferredStateContinues(t *testing.T) {
	t.Parallel()
	place := ownDatabase(t)
	path := filepath.Join(t.TempDir(), "state.db")
	opts := sqlstore.Options{Now: time.Now}
	s, err := sqlstore.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	known(t, s, "a")
	paid := store.TopUp{Service: "s", AgentID: "a", Amount: money.Amount{Nano: 100, Currency: "USD"}, Reference: "r"}
	if _, err := s.TopUp(t.Context(), paid); err != nil {
		t.Fatal(err)
	}
	for id, end := range map[string]store.State{
		"captured": store.Captured, "released": store.Released, "unresolved": store.Unresolved, "held": store.Held,
	} {
		if err := pay(t.Context(), s, id, end); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Begin(t.Context(), oneOf(1)); err != nil {
		t.Fatal(err)
	}
	before, err := s.Execution(t.Context(), "s", "captured")
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := s.Accounts(t.Context(), store.Filter{Service: "s", Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := sqlstore.Transfer(t.Context(), path, place, opts)
	if err != nil || found.Agents != 1 || found.Unresolved != 1 || found.Executions < 4 {
		t.Fatalf("got %+v, %v; want no error, one agent, one unresolved execution and at least four executions", found, err)
	}
	moved := openShared(t, place)
	if after, err := moved.Execution(t.Context(), "s", "captured"); err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("got %+v, %v; want %+v", after, err, before)
	}
	if after, err := moved.Accounts(t.Context(), store.Filter{Service: "s", Limit: 10}); err != nil || len(after) != 1 ||
		!reflect.DeepEqual(after, accounts) {
		t.Errorf("got the accounts %+v, %v; want %+v", after, err, accounts)
	}
	if _, ok := errors.AsType[*store.LimitError](errOf(moved.Begin(t.Context(), oneOf(1)))); !ok {
		t.Error("a limit that was used up admits a call")
	}
	if err := pay(t.Context(), moved, "after", store.Captured); err != nil {
		t.Error(err)
	}
	if has, err := sqlstore.Verify(t.Context(), place); err != nil || has.Entries != found.Entries+2 {
		t.Errorf("got %+v, %v; want no error and %d entries", has, err, found.Entries+2)
	}
}

func TestTransfersThatAreRefused(t *testing.T) {
	t.Parallel()
	opts := sqlstore.Options{Now: time.Now}
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := sqlstore.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	known(t, s, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	inUse, taken := ownDatabase(t), ownDatabase(t)
	openShared(t, inUse)
	other, err := sqlstore.Open(t.Context(), taken, opts)
	if err != nil {
		t.Fatal(err)
	}
	known(t, other, "b")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]error{inUse: sqlstore.ErrInUse, taken: sqlstore.ErrHasState} {
		if _, err := sqlstore.Transfer(t.Context(), path, place, opts); !errors.Is(err, want) || strings.Contains(err.Error(), "postgres:") {
			t.Errorf("got the error %v; want %v, without the URL", err, want)
		}
		if found, err := sqlstore.Inspect(t.Context(), path); err != nil || found.Agents != 1 {
			t.Errorf("the original: %+v, %v; want no error and one agent", found, err)
		}
	}
	if found, err := sqlstore.HasAgents(t.Context(), taken); err != nil || !found {
		t.Errorf("HasAgents returned %t, %v; want true", found, err)
	}
}
