package sqlstore

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// The ledger of an agent lists every entry once, by time, even if the clock was set back and entries were deleted between two pages. A
// deleted charge leaves no entry, however it ended.
func TestTheLedgerOfAnAgentPagesByTime(t *testing.T) {
	t.Parallel()
	onEachEngine(t, time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), func(on engineTest) {
		t, s, clock := on.T, on.store, on.clock
		pay := func(n int, agent string, unresolved bool) {
			t.Helper()
			admission, err := s.Begin(t.Context(), unapproved(agent, strconv.Itoa(n), 1000))
			if err != nil {
				t.Fatal(err)
			}
			clock.Advance(time.Second)
			if unresolved {
				if _, err = s.Settle(t.Context(), admission, store.Settlement{State: store.Unresolved, Outcome: store.Unknown}); err != nil {
					t.Fatal(err)
				}
				clock.Advance(-time.Minute)
			}
			if _, err = s.Settle(t.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done}); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 6 {
			pay(2*n, "a", n%3 == 1)
			pay(2*n+1, "b", false)
		}
		read := func(between func()) (entries int) {
			t.Helper()
			f, last := store.Filter{Service: "s", AgentID: "a", Limit: 3}, time.Unix(1<<40, 0)
			seen := map[int64]bool{}
			for {
				page, err := s.Ledger(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page {
					if seen[e.Seq] || e.At.After(last) || e.AgentID != "a" {
						t.Errorf("entry %+v after one of %s", e, last)
					}
					seen[e.Seq], last = true, e.At
				}
				if len(page) < f.Limit {
					return len(seen)
				}
				f.After = strconv.FormatInt(page[len(page)-1].Seq, 10)
				between()
			}
		}
		if n := read(func() {}); n != 14 { // two for each charge, and one more for each that was unresolved
			t.Errorf("%d entries, want 14", n)
		}
		clock.Advance(48 * time.Hour)
		for n := range 2 {
			pay(100+n, "a", false)
		}
		s.KeepLedger(24 * time.Hour)
		purged := false
		if n := read(func() {
			if !purged {
				purged = true
				if _, err := s.Purge(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}); n != 4 {
			t.Errorf("%d entries while others were deleted, want the 4 that were kept", n)
		}
		whole, err := s.Ledger(t.Context(), store.Filter{Limit: 100})
		if err != nil || len(whole) != 4 {
			t.Errorf("%d entries are left, want 4, %v", len(whole), err)
		}
		if err := s.CheckBalance(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAccountsBelowABalance(t *testing.T) {
	t.Parallel()
	onEachEngine(t, time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), func(on engineTest) {
		t, s := on.T, on.store
		eur := func(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: "EUR"} }
		for id, paid := range map[pat.AgentID]money.Amount{
			"poor": eur(9), "owing": eur(1), "rich": eur(10), "foreign": {Nano: 1, Currency: "USD"},
		} {
			if _, err := s.TopUp(t.Context(), store.TopUp{Service: "s", AgentID: id, Amount: paid}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.TopUp(t.Context(), store.TopUp{Service: "other", AgentID: "poor", Amount: eur(100)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.TopUp(t.Context(), store.TopUp{Service: "other", AgentID: "other", Amount: eur(1)}); err != nil {
			t.Fatal(err)
		}
		accounts, err := s.Accounts(t.Context(), store.Filter{Service: "s", BalanceBelow: eur(10)})
		var got []string
		for _, a := range accounts {
			got = append(got, string(a.AgentID)+" "+a.ToppedUp.String())
		}
		if want := []string{"owing " + eur(1).String(), "poor " + eur(9).String()}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	})
}
