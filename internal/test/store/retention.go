package storetest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store"
)

const (
	kept  = LedgerKept
	month = 30 * 24 * time.Hour
)

func retention(b *suite) {
	b.topUp(agent, usd(1000))
	captured, released, unknown, late := b.begin(b.paid(5)), b.begin(b.paid(7)), b.begin(b.paid(11)), b.begin(b.paid(13))
	b.settle(captured, store.Captured, store.Done)
	b.settle(released, store.Released, store.Failed)
	b.settle(unknown, store.Unresolved, store.Unknown)
	b.settle(late, store.Unresolved, store.Unknown)
	b.clock.Advance(month)
	_, err := b.Resolve(b.Context(), service, late.Execution.ID, store.Captured)
	b.must(err)
	before := b.account()
	is := func(admission store.Admission, want error) {
		b.Helper()
		_, err := b.Execution(b.Context(), service, admission.Execution.ID)
		b.want(err, want)
	}
	b.clock.Advance(kept - month - time.Nanosecond)
	b.purge()
	is(captured, nil)
	b.clock.Advance(time.Nanosecond)
	if n := b.purge(); n != 3 { // the top-up, and the beginnings of two charges; the third charge is open, and keeps the entries after it
		b.Fatalf("%d rows were purged", n)
	}
	is(captured, nil)
	is(released, nil)
	is(unknown, nil)
	is(late, nil)
	entries, err := ledger(b.Context(), b)
	b.must(err)
	if len(entries) != 7 { // held and unresolved of two calls, one of them captured, and the ends of two others
		b.Fatalf("got %+v, want length 7", entries)
	}
	if after := b.account(); after != before {
		b.Fatalf("%+v, before %+v", after, before)
	}
	b.must(b.CheckBalance(b.Context()))
	b.clock.Advance(month)
	b.purge()
	is(late, nil)
	b.clock.Advance(10 * kept)
	b.purge()
	is(unknown, nil)
	is(late, nil)
	_, err = b.Resolve(b.Context(), service, unknown.Execution.ID, store.Captured)
	b.must(err)
	b.clock.Advance(kept)
	b.purge()
	for _, admission := range []store.Admission{captured, released, unknown, late} {
		is(admission, store.ErrNotFound)
	}
	if a := b.account(); a.ToppedUp != usd(1000) || a.Held != usd(0) || a.Captured != usd(29) {
		b.Fatalf("got %+v", a)
	}
	b.must(b.CheckBalance(b.Context()))
	if entries, err := ledger(b.Context(), b); err != nil || len(entries) != 0 {
		b.Fatalf("got %+v, %v; want none, nil", entries, err)
	}
	if n := b.purge(); n != 0 {
		b.Fatalf("%d rows were purged the second time", n)
	}
	if st := b.statement(time.Time{}, time.Time{}); st.Opening != st.Closing || st.Opening.Captured != usd(29) || len(st.Lines) != 0 {
		b.Fatalf("got %+v", st)
	}
	b.overCredit(agent, 972, store.Billing{Prepaid: true})
	b.mustCharge(agent, 971, store.Billing{Prepaid: true})
}

func retainMany(b *suite) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range randomCharges + 10 {
		b.randomCharge(rng)
	}
	last := b.clock.Now()
	accounts := func() []store.Account {
		list, err := b.Accounts(b.Context(), store.Filter{Service: service})
		b.must(err)
		slices.SortFunc(list, func(x, y store.Account) int {
			return cmp.Or(cmp.Compare(x.AgentID, y.AgentID), strings.Compare(x.Currency, y.Currency))
		})
		return list
	}
	before := accounts()
	for b.clock.Now().Before(last.Add(kept + time.Hour)) {
		b.clock.Advance(kept / 7)
		b.purge()
		b.must(b.CheckBalance(b.Context()))
	}
	if after := accounts(); !gocmp.Equal(before, after) {
		b.Fatal(gocmp.Diff(before, after))
	}
	_, err := b.Sweep(b.Context())
	b.must(err)
	left, err := executions(b.Context(), b)
	b.must(err)
	type account struct{ agent, currency string }
	oldest := map[account]string{} // the first call of an account, with an unknown outcome, keeps the charges after it
	for _, e := range left {
		if k := (account{string(e.AgentID), e.Charge.Currency}); e.State == store.Unresolved && (oldest[k] == "" || e.ID < oldest[k]) {
			oldest[k] = e.ID
		}
	}
	for _, e := range left {
		k := account{string(e.AgentID), e.Charge.Currency}
		if e.State == store.Unresolved {
			_, err := b.Resolve(b.Context(), service, e.ID, store.Captured)
			b.must(err)
		} else if oldest[k] == "" || e.SettledAt.Before(start) {
			b.Errorf("%s is still there", e.ID)
		}
	}
	if len(oldest) == 0 {
		b.Error("calls with an unknown outcome were purged too")
	}
	b.clock.Advance(kept)
	b.purge()
	if left, err := executions(b.Context(), b); err != nil || len(left) != 0 {
		b.Errorf("%d executions are left, %v; want none", len(left), err)
	}
	b.must(b.CheckBalance(b.Context()))
}

func statementsAfterRetention(b *suite) {
	b.settle(b.begin(b.paid(5)), store.Captured, store.Done)
	ended := b.clock.Now()
	b.clock.Advance(month)
	second := b.clock.Now()
	b.settle(b.begin(b.paid(7)), store.Captured, store.Done)
	b.clock.Advance(kept - month)
	b.purge()
	for _, from := range []time.Time{start.Add(-time.Hour), ended} {
		_, err := b.Statements(b.Context(), store.StatementFilter{Service: service, From: from, To: second})
		b.want(err, store.ErrForgotten)
	}
	first := ended.Add(time.Nanosecond)
	for _, from := range []time.Time{{}, first} {
		st := b.statement(from, time.Time{})
		if !st.From.Equal(first) || st.Opening.Captured != usd(5) || st.Closing.Captured != usd(12) || len(st.Lines) != 1 ||
			st.Lines[0].Captured != charges(1, 7) {
			b.Fatalf("got %+v", st)
		}
	}
	if list := b.statements(store.StatementFilter{Service: "another", From: start}); len(list) != 0 {
		b.Fatalf("got %+v, want none", list)
	}
}
