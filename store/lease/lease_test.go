package lease_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

func TestLeasedCallsDoNotWrite(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	q := free(rate("l", 100_000, limit.Hour))
	r.costs(10, func() { // each lease is three times as large
		for range 10_000 {
			b := r.begin(q)
			if b.Recorded || b.Execution.State != store.Held || b.Execution.Rule != "rule" || !b.Execution.BeganAt.Equal(start) {
				t.Fatalf("got %+v", b)
			}
			if _, err := r.Settle(t.Context(), b, store.Settlement{State: store.Captured, Outcome: store.Done}); err != nil {
				t.Fatal(err)
			}
		}
	})
	if s := r.begin(q).Standing[0]; s.Left != 100_000-10_001 {
		t.Fatalf("got %+v, want Left %v", s, 100_000-10_001)
	}
}

func TestUnleasedCallsUseStore(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	big := rate("l", 100, limit.Hour)
	keyed, proved, paid, mixed := free(big), free(big), free(big), free(big, rate("m", 100, limit.Month))
	keyed.Execution.IdempotencyKey, keyed.Execution.ID = "key", "keyed"
	proved.Nonce = &store.Nonce{KeyID: "k", ID: "n", Until: start.Add(time.Hour)}
	paid.Candidates[0].Charge, paid.Billing.Credit = money.Amount{Nano: 1, Currency: "USD"}, money.Amount{Nano: 9, Currency: "USD"}
	many := free()
	for i := range 9 {
		many.Limits = append(many.Limits, rate(fmt.Sprint(i), 100, limit.Hour))
	}
	for name, q := range map[string]store.BeginRequest{
		"a key": keyed, "a proof": proved, "a charge": paid, "a calendar limit": mixed, "a small limit": free(rate("s", 99, limit.Hour)),
		"a lifetime limit": free(rate("e", 1000, limit.Lifetime)), "very many limits": many,
	} {
		before := r.store.leases.Load()
		r.begin(q)
		if r.store.leases.Load() != before {
			t.Errorf("%s was leased", name)
		}
	}
	r.costs(1, func() {
		if _, err := r.Begin(t.Context(), store.BeginRequest{Execution: store.Execution{Service: "shop"}}); err == nil {
			t.Error("a call without candidates began")
		}
	})
}

func TestFirstCallIsRecorded(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	q := free(rate("l", 1000, limit.Hour))
	q.Execution.AgreementID = "agreement"
	r.begin(q)
	if r.store.begins.Load() != 1 || r.store.leases.Load() != 0 {
		t.Fatal("the first call did not go through the store")
	}
	r.begin(q)
	if r.store.begins.Load() != 1 || r.store.leases.Load() != 1 {
		t.Fatal("the second call was not leased")
	}
}

func TestLimitsAreFetchedTogether(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	q := free(rate("b", 1000, limit.Hour), rate("a", 800, limit.Minute), rate("a", 900, limit.Minute))
	q.Limits = []store.Reservation{{Limit: limit.Limit{ID: "ceiling", Rate: limit.Rate{Max: 5000, Period: limit.Day}}}}
	r.costs(1, func() {
		b := r.begin(q)
		if len(b.Taken) != 3 || b.Taken[0].Principal != "" || b.Taken[1].LimitID != "b" || b.Taken[2].LimitID != "a" {
			t.Fatalf("got %+v; want length 3, [0].Principal empty, [1].LimitID %q and [2].LimitID %q", b.Taken, "b", "a")
		}
		if s := b.Standing; len(s) != 3 || s[0].Left != 4999 || s[1].Left != 999 || s[2].Left != 799 || s[2].Max != 800 {
			t.Fatalf("got %+v", b.Standing)
		}
		if want := limit.Minute.Expires(limit.Minute.Slot(start)).Sub(start); b.Expires != want {
			t.Fatalf("the grant lives for %v; want %v", b.Expires, want)
		}
	})
}

func TestCandidatesInOrder(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	q := free(rate("one", 100, limit.Hour))
	q.Candidates = append(q.Candidates,
		store.Candidate{Rule: "second", Limits: []store.Reservation{rate("two", 150, limit.Hour)}},
		store.Candidate{Rule: "third", Charge: money.Amount{Nano: 1, Currency: "USD"}})
	q.Billing.Credit = money.Amount{Nano: 10, Currency: "USD"}
	for i := range 255 {
		q.Execution.ID = fmt.Sprint(i)
		want := "rule"
		if i >= 250 {
			want = "third"
		} else if i >= 100 {
			want = "second"
		}
		if b := r.begin(q); b.Execution.Rule != want || b.Recorded != (i >= 250) {
			t.Fatalf("call %d: %+v; want Execution.Rule %v and Recorded %v", i, b, want, i >= 250)
		}
	}
	q.Candidates = q.Candidates[:2]
	r.costs(0, func() { // both refusals are cached; the last is returned
		if e := r.refused(q); e.ID != "two" || e.Principal != "agent" || e.Left != 0 {
			t.Fatalf("got %+v; want ID %q, Principal %q and Left 0", e, "two", "agent")
		}
	})
	q.Candidates = append(q.Candidates, store.Candidate{Rule: "boundless"})
	if b := r.begin(q); b.Execution.Rule != "boundless" || b.Recorded || b.Expires != 0 || len(b.Taken) != 0 {
		t.Fatalf("got %+v", b)
	}
}

func TestRefusalIsKeptToNextSlot(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	q := free(rate("l", 100, limit.Minute))
	for range 100 {
		r.begin(q)
	}
	var first *store.LimitError
	r.costs(1, func() {
		first = r.refused(q)
		for range 1000 {
			r.full(q)
		}
	})
	r.advance(100 * time.Millisecond)
	r.costs(0, func() {
		e := r.refused(q)
		if e.RetryAfter != first.RetryAfter-100*time.Millisecond || e.Resets != first.Resets-100*time.Millisecond || e.Max != 100 {
			t.Fatalf("%+v after %+v", e, first)
		}
	})
	r.advance(limit.Minute.Ends(limit.Minute.Slot(start)).Sub(r.truth.Now()))
	r.costs(1, func() { r.full(q); r.full(q) })
	r.advance(first.RetryAfter)
	r.begin(q)
}

func TestLongestRefusal(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	q := free(rate("m", 100, limit.Minute), rate("h", 100, limit.Hour), rate("s", 100, limit.Second))
	for range 100 {
		r.begin(q)
	}
	for range 3 {
		if e := r.refused(q); e.ID != "h" {
			t.Fatalf("got %+v, want ID %q", e, "h")
		}
		r.advance(100 * time.Millisecond)
	}
}

func TestUnsentCallIsRefunded(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	q := free(rate("l", 100, limit.Minute))
	notSent := store.Settlement{State: store.Released, Outcome: store.NotSent}
	settle := func(b store.Admission) {
		t.Helper()
		if e, err := r.Settle(t.Context(), b, notSent); err != nil || e.Outcome != store.NotSent || e.State != store.Released {
			t.Fatalf("got %+v, %v; want no error, Outcome %v and State %v", e, err, store.NotSent, store.Released)
		}
	}
	var last store.Admission
	for range 100 {
		last = r.begin(q)
	}
	r.costs(0, func() { settle(last); last = r.begin(q) }) // the unit returns to the lease, which is still valid
	r.full(q)
	settle(last) // the unit returns to the store
	last = r.begin(q)
	r.full(q)
	r.advance(time.Second) // the lease has expired
	settle(last)
	again := r.begin(q) // its unit is free in the store, and the cached refusal is deleted
	r.full(q)
	settle(again)
	r.advance(5 * time.Minute)
	settle(last) // no longer affects the count
	if s := r.begin(q).Standing[0]; s.Left != 99 {
		t.Fatalf("got %+v, want Left 99", s)
	}
}

// Only one of two settlements returns the units of a recorded call.
func TestRecordedCallIsRefundedOnce(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	q := free(rate("l", 1000, limit.Hour))
	r.warm(q) // 21 calls
	keyed := free(rate("l", 1000, limit.Hour))
	keyed.Execution.IdempotencyKey = "key"
	b := r.begin(keyed)
	for _, want := range []error{nil, store.ErrSettled, store.ErrSettled} {
		if _, err := r.Settle(t.Context(), b, store.Settlement{State: store.Released, Outcome: store.NotSent}); !errors.Is(err, want) {
			t.Fatalf("%v; want %v", err, want)
		}
	}
	r.advance(time.Minute)
	if s := r.begin(q).Standing[0]; s.Left != 1000-22 {
		t.Fatalf("got %+v, want Left %v", s, 1000-22)
	}
}

func TestLeasedUnitsAreRecalled(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	q := free(rate("l", 1000, limit.Hour))
	r.warm(q)
	keyed := free(rate("l", 1000, limit.Hour))
	for i := range 1000 - 21 {
		keyed.Execution.ID, keyed.Execution.IdempotencyKey = fmt.Sprint(i), fmt.Sprint(i)
		if s := r.begin(keyed).Standing[0]; s.Left != int64(1000-21-i-1) {
			t.Fatalf("call %d: %+v; want Left %v", i, s, int64(1000-21-i-1))
		}
	}
	keyed.Execution.ID, keyed.Execution.IdempotencyKey = "last", "last"
	r.full(keyed)
	r.costs(1, func() { r.full(keyed) }) // nothing is left to return
	r.full(q)
}

func TestChangedMax(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	r.warm(free(rate("l", 1000, limit.Hour))) // 21 calls
	if s := r.begin(free(rate("l", 200, limit.Hour))).Standing[0]; s.Left != 178 || s.Max != 200 {
		t.Fatalf("got %+v; want Left 178 and Max 200", s)
	}
	if s := r.begin(free(rate("l", 2000, limit.Hour))).Standing[0]; s.Left != 1977 || s.Max != 2000 {
		t.Fatalf("got %+v; want Left 1977 and Max 2000", s)
	}
	for range 200 - 23 {
		r.begin(free(rate("l", 200, limit.Hour)))
	}
	r.full(free(rate("l", 200, limit.Hour)))
	r.begin(free(rate("l", 1000, limit.Hour)))
	r.full(free(rate("l", 200, limit.Hour)))
}

func TestCloseReturnsLeases(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	hour, day := rate("h", 1000, limit.Hour), rate("d", 1000, limit.Day)
	r.warm(free(hour, day))
	held := r.begin(free(hour))
	r.costs(1, func() {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
	r.costs(0, func() {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
	r.costs(1, func() { // the call uses the store
		if s := r.begin(free(hour, day)).Standing; s[0].Left != 1000-23 || s[1].Left != 1000-22 {
			t.Fatalf("got %+v; want [0].Left %v and [1].Left %v", s, 1000-23, 1000-22)
		}
	})
	if _, err := r.Settle(t.Context(), held, store.Settlement{State: store.Released, Outcome: store.NotSent}); err != nil {
		t.Fatal(err)
	}
	if s := r.begin(free(hour)).Standing; s[0].Left != 1000-23 {
		t.Fatalf("got %+v, want [0].Left %v", s, 1000-23)
	}
}

func TestTidy(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	for i := range 300 {
		r.begin(free(rate(fmt.Sprint(i), 1000, limit.Day)))
		r.begin(free(rate(fmt.Sprint(i), 1000, limit.Day)))
		r.begin(free(rate(fmt.Sprint(i), 1000, limit.Day))) // three calls, one of two leases unused
		r.begin(free(rate(fmt.Sprint(i), 1000, limit.Day)))
	}
	tidy := func() {
		t.Helper()
		if err := r.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.costs(0, tidy)
	r.advance(11 * time.Second) // long before the end of the slot
	r.costs(3, tidy)            // 128 limits at once
	r.costs(0, tidy)
	if n := r.Known(); n != 300 {
		t.Fatalf("%d limits are known", n)
	}
	r.advance(time.Minute)
	r.costs(0, tidy)
	if n := r.Known(); n != 0 {
		t.Fatalf("%d limits are known", n)
	}
	for i := range 300 {
		if s := r.begin(free(rate(fmt.Sprint(i), 1000, limit.Day))).Standing[0]; s.Left != 995 {
			t.Fatalf("got %+v, want Left 995", s)
		}
	}
}

func TestTooManyLimits(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	r.BoundKeys(2)
	for i := range 5 {
		r.begin(free(rate("0", 1000, limit.Day), rate(fmt.Sprint(i), 1000, limit.Hour)))
	}
	if n := r.Known(); n != 2 || r.store.begins.Load() != 4 {
		t.Fatalf("%d limits are known, %d calls went through the store", n, r.store.begins.Load())
	}
	r.advance(time.Minute)
	if err := r.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.begin(free(rate("4", 1000, limit.Hour)))
	if r.store.begins.Load() != 4 {
		t.Fatal("the freed entries were not used again")
	}
}

// If the state is set back to an earlier one, for example because a standby is promoted, leased units are neither used nor returned: the
// state may not include them.
func TestRestoreEndsLeases(t *testing.T) {
	t.Parallel()
	r := newLeaseTest(t)
	limited := limit.OfToken(limit.Rate{Max: 1000, Period: limit.Hour})
	q := free(store.Reservation{Principal: "agent", Limit: limited})
	r.warm(q)
	taken := r.begin(q)
	state := r.store.Store.(*sqlstore.Store) //nolint:forcetypeassert // newLeaseTest opens a sqlstore
	if _, err := state.Restored(t.Context(), store.DefaultRestoredLimits()); err != nil {
		t.Fatal(err)
	}
	var after store.Admission
	r.costs(1, func() { after = r.begin(q) })
	left := after.Standing[0].Left
	if _, err := r.Settle(t.Context(), taken, store.Settlement{State: store.Released, Outcome: store.NotSent}); err != nil {
		t.Fatal(err)
	}
	if now := r.begin(q).Standing[0].Left; now != left-1 {
		t.Errorf("%d are left after an earlier unit was released; before that %d", now, left)
	}
	if left > 1000-22 {
		t.Errorf("%d are left: earlier units were returned", left)
	}
}
