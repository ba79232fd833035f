package storetest

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

var periods = []limit.Period{limit.Second, limit.Minute, limit.Hour, limit.Day, limit.Week, limit.Month, limit.Year, limit.Lifetime}

func testLimits(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"a limit admits N, and one more at RetryAfter": limitsAdmit,
		"left and resets are exact":                    standingIsExact,
		"a grant ends with the slot after its own":     grantsExpire,
		"a limit of zero admits no call":               noneAdmitsNone,
		"one id has one counter with the smaller N":    oneIDOneCounter,
		"a refusal takes nothing":                      refusalTakesNothing,
		"the longest refusal is returned":              longestRefusal,
		"candidates are tried in order":                candidatesInOrder,
		"agents share only shared limits":              sharedCounters,
		"a limit keeps its kind":                       kindsAreKept,
		"a changed N keeps the count":                  newRateOldCount,
		"a clock set back loses nothing":               clockSetBack,
		"units of an unsent call are released":         notSentGivesBack,
		"units that no longer count are not released":  lateGiveBack,
		"an invalid rate is refused":                   invalidRates,
		"counters survive":                             countersSurvive,
	})
}

func limitsAdmit(b *suite) {
	for _, p := range periods {
		r := func() store.BeginRequest { return b.free(rate("limit-"+string(p), 3, p)) }
		for range 3 {
			if got := b.begin(r()); got.Recorded || len(got.Taken) != 1 {
				b.Fatalf("%s: %+v", p, got)
			}
		}
		refusal := b.refused(r())
		if refusal.Left != 0 || refusal.Principal != agent || refusal.Max != 3 || refusal.Period != p {
			b.Fatalf("%s: %+v", p, refusal)
		}
		if p == limit.Lifetime {
			if refusal.RetryAfter != 0 || refusal.Resets != 0 {
				b.Fatalf("lifetime: %+v; want RetryAfter 0 and Resets 0", refusal)
			}
			b.clock.Advance(10 * 366 * 24 * time.Hour)
			b.refused(r())
			continue
		}
		b.clock.Advance(refusal.RetryAfter - time.Millisecond)
		if again := b.refused(r()); again.RetryAfter != time.Millisecond {
			b.Fatalf("%s: %v before the end; want %v", p, again.RetryAfter, time.Millisecond)
		}
		b.clock.Advance(time.Millisecond)
		b.begin(r())
	}
}

func standingIsExact(b *suite) {
	l := rate("l", 5, limit.Minute)
	first := b.begin(b.free(l)).Standing[0]
	want := limit.Status{Limit: l.Limit, Left: 4, Resets: limit.Minute.Frees(limit.Minute.Slot(start)).Sub(start)}
	if first != want {
		b.Fatalf("%+v; want %+v", first, want)
	}
	b.clock.Advance(30 * time.Second)
	if s := b.begin(b.free(l)).Standing[0]; s.Left != 3 || s.Resets != want.Resets-30*time.Second {
		b.Fatalf("got %+v; want Left 3 and Resets %v", s, want.Resets-30*time.Second)
	}
	b.clock.Advance(want.Resets - 30*time.Second) // the first leaves the window
	if s := b.begin(b.free(l)).Standing[0]; s.Left != 3 || s.Resets != 30*time.Second {
		b.Fatalf("got %+v; want Left 3 and Resets %v", s, 30*time.Second)
	}
}

func grantsExpire(b *suite) {
	for _, p := range periods {
		got := b.begin(b.free(rate("a", 9, p), rate("b", 9, limit.Week))).Expires
		at := limit.Week.Expires(limit.Week.Slot(start))
		if e := p.Expires(p.Slot(start)); !e.IsZero() && e.Before(at) {
			at = e
		}
		if got != at.Sub(start) || got <= 0 {
			b.Errorf("%s: %v; want %v", p, got, at.Sub(start))
		}
	}
	if got := b.begin(b.free(rate("c", 9, limit.Month), rate("d", 9, limit.Lifetime))).Expires; got != 0 {
		b.Errorf("calendar: %v; want no end", got)
	}
}

func noneAdmitsNone(b *suite) {
	for _, p := range periods {
		e := b.refused(b.free(rate("none", 0, p)))
		if (e.RetryAfter > 0) != (p != limit.Lifetime) || e.Left != 0 {
			b.Errorf("%s: %+v", p, e)
		}
	}
}

func oneIDOneCounter(b *suite) {
	r := b.free(rate("l", 5, limit.Hour), rate("l", 2, limit.Hour))
	r.Limits = []store.Reservation{rate("l", 3, limit.Hour)}
	got := b.begin(r)
	if len(got.Taken) != 1 || len(got.Standing) != 1 || got.Standing[0].Max != 2 || got.Standing[0].Left != 1 {
		b.Fatalf("got %+v; want Taken of length 1, Standing of length 1, Standing[0].Max 2 and Standing[0].Left 1", got)
	}
	b.begin(r)
	b.refused(r)
	if s := b.begin(b.free(rate("l", 5, limit.Hour))).Standing[0]; s.Left != 2 {
		b.Fatalf("got %+v, want Left 2", s)
	}
	other := rate("l", 1, limit.Hour)
	other.Principal = "agent-2"
	b.begin(b.free(other))
	r.Execution.Service = "another"
	b.begin(r)
}

func refusalTakesNothing(b *suite) {
	open, shut := rate("open", 2, limit.Hour), rate("shut", 0, limit.Hour)
	for range 5 {
		r := b.paid(1, open, shut)
		r.Execution.IdempotencyKey = "key"
		r.Nonce = &store.Nonce{KeyID: "k", ID: "n", Until: start.Add(time.Hour)}
		b.refused(r)
	}
	r := b.paid(1, open)
	r.Execution.IdempotencyKey = "key"
	r.Nonce = &store.Nonce{KeyID: "k", ID: "n", Until: start.Add(time.Hour)}
	if s := b.begin(r).Standing[0]; s.Left != 1 {
		b.Fatalf("got %+v, want Left 1", s)
	}
	again := b.paid(1, open) // a failed write takes no units either
	again.Execution.ID = r.Execution.ID
	if _, err := b.Begin(b.Context(), again); err == nil {
		b.Fatal("one id was recorded twice")
	}
	if s := b.begin(b.free(open)).Standing[0]; s.Left != 0 {
		b.Fatalf("got %+v, want Left 0", s)
	}
	if a := b.account(); a.Held.Nano != 1 {
		b.Fatalf("got %+v, want Held.Nano 1", a)
	}
	b.balanced()
}

func longestRefusal(b *suite) {
	ls := []store.Reservation{rate("m", 1, limit.Minute), rate("h", 1, limit.Hour), rate("s", 1, limit.Second)}
	b.begin(b.free(ls...))
	if e := b.refused(b.free(ls...)); e.ID != "h" {
		b.Fatalf("got %+v, want ID %q", e, "h")
	}
	b.begin(b.free(rate("x", 1, limit.Lifetime)))
	if e := b.refused(b.free(append(ls, rate("x", 1, limit.Lifetime))...)); e.ID != "x" || e.RetryAfter != 0 {
		b.Fatalf("got %+v; want ID %q and RetryAfter 0", e, "x")
	}
}

func candidatesInOrder(b *suite) {
	r := func() store.BeginRequest {
		r := b.free()
		r.Limits = []store.Reservation{rate("all", 9, limit.Hour)}
		r.Candidates = []store.Candidate{
			{Rule: "first", Limits: []store.Reservation{rate("one", 1, limit.Hour)}},
			{Rule: "second", Limits: []store.Reservation{rate("two", 1, limit.Day)}, Charge: usd(5)},
			{Rule: "third", Charge: usd(7)},
		}
		r.Billing.Credit = usd(12)
		return r
	}
	for i, rule := range []string{"first", "second", "third"} {
		got := b.begin(r())
		if got.Execution.Rule != rule || got.Recorded != (i > 0) || got.Standing[0].ID != "all" || got.Standing[0].Left != int64(8-i) {
			b.Fatalf("%s: %+v", rule, got)
		}
	}
	_, err := b.Begin(b.Context(), r())
	b.want(err, store.ErrCredit) // the last refusal
	few := r()
	few.Candidates = few.Candidates[:2]
	if e := b.refused(few); e.ID != "two" {
		b.Fatalf("got %+v, want ID %q", e, "two")
	}
	if _, err := b.Begin(b.Context(), store.BeginRequest{Execution: few.Execution}); err == nil {
		b.Fatal("a call without candidate was begun")
	}
	if s := b.begin(b.free(rate("all", 9, limit.Hour))).Standing[0]; s.Left != 5 {
		b.Fatalf("got %+v, want Left 5", s)
	}
	b.balanced()
}

func sharedCounters(b *suite) {
	shared := rate("ceiling", 2, limit.Hour)
	shared.Principal = ""
	for i := range 3 {
		r := b.free(shared)
		r.Execution.AgentID = []pat.AgentID{"x", "y", "z"}[i]
		if i < 2 {
			b.begin(r)
		} else if e := b.refused(r); e.Principal != "" {
			b.Fatalf("got %+v, want Principal empty", e)
		}
	}
}

func kindsAreKept(b *suite) {
	r := limit.Rate{Max: 200, Period: limit.Hour}
	limits := []store.Reservation{
		{Principal: agent, Limit: limit.OfToken(r)}, {Limit: limit.OfService("example.com:buy:v1", r)}, rate("0123456789abcdef", 200, limit.Hour),
	}
	for _, l := range limits {
		for range 200 {
			if got := b.begin(b.free(l)).Standing[0].Limit; got != l.Limit {
				b.Fatalf("%+v; want %+v", got, l.Limit)
			}
		}
		for range 2 {
			if e := b.refused(b.free(l)); e.Limit != l.Limit || e.Principal != l.Principal {
				b.Fatalf("%+v; want %+v", e, l)
			}
		}
	}
}

func newRateOldCount(b *suite) {
	for range 5 {
		b.begin(b.free(rate("l", 5, limit.Hour)))
		b.clock.Advance(time.Minute)
	}
	e := b.refused(b.free(rate("l", 2, limit.Hour)))
	// Four of the five units must leave the window. The fourth was taken three minutes after the first.
	k := limit.Hour.Slot(start.Add(3 * time.Minute))
	if want := limit.Hour.Frees(k).Sub(b.clock.Now()); e.RetryAfter != want {
		b.Fatalf("%v; want %v", e.RetryAfter, want)
	}
	if s := b.begin(b.free(rate("l", 6, limit.Hour))).Standing[0]; s.Left != 0 {
		b.Fatalf("got %+v, want Left 0", s)
	}
}

func clockSetBack(b *suite) {
	for _, p := range periods[:7] {
		l := rate("l", 3, p)
		first := b.begin(b.free(l))
		b.clock.Advance(-400 * 24 * time.Hour)
		got := b.begin(b.free(l))
		if got.Taken[0].Slot != first.Taken[0].Slot {
			b.Fatalf("%s: slot went from %d to %d", p, first.Taken[0].Slot, got.Taken[0].Slot)
		}
		if p.Rolling() && (got.Expires <= 0 || got.Expires > time.Duration(p.Seconds())*time.Second/3) {
			b.Fatalf("%s: the grant lives for %v", p, got.Expires)
		}
		b.reopen()
		b.begin(b.free(l))
		e := b.refused(b.free(l))
		if b.neverJumps() {
			b.clock.Advance(400 * 24 * time.Hour)
			continue
		}
		if e.RetryAfter < 400*24*time.Hour {
			b.Fatalf("%s: got %+v; want RetryAfter at least %v", p, e, 400*24*time.Hour)
		}
		b.clock.Advance(400 * 24 * time.Hour)
		b.refused(b.free(l))
	}
}

func notSentGivesBack(b *suite) {
	for _, p := range periods {
		l := rate("l", 1, p)
		for _, r := range []store.BeginRequest{b.free(l), b.paid(3, l), b.keyed("k", l)} {
			admission := b.begin(r)
			b.refused(b.free(l))
			if e := b.settle(admission, store.Released, store.NotSent); e.State != store.Released || e.Outcome != store.NotSent {
				b.Fatalf("got %+v; want State %v and Outcome %v", e, store.Released, store.NotSent)
			}
		}
		admission := b.begin(b.paid(3, l))
		b.settle(admission, store.Released, store.Failed)
		b.refused(b.free(l)) // it reached the upstream, so it counts
		_, err := b.Settle(b.Context(), admission, store.Settlement{State: store.Released, Outcome: store.NotSent})
		b.want(err, store.ErrSettled)
		b.refused(b.free(l))
	}
	b.balanced()
}

func lateGiveBack(b *suite) {
	l := rate("l", 2, limit.Minute)
	admission := b.begin(b.free(l))
	b.clock.Advance(2 * time.Minute)
	b.begin(b.free(l))
	b.settle(admission, store.Released, store.NotSent)
	if s := b.begin(b.free(l)).Standing[0]; s.Left != 0 {
		b.Fatalf("got %+v, want Left 0", s)
	}
	strange := store.Admission{Execution: store.Execution{Service: service}, Taken: []store.CounterSlot{
		{Principal: agent, LimitID: "unknown", Period: limit.Hour, Slot: 1}, {Principal: agent, LimitID: "l", Period: "", Slot: 1},
	}}
	b.settle(strange, store.Released, store.NotSent)
}

func invalidRates(b *suite) {
	for _, r := range []limit.Rate{
		{Max: 1, Period: "fortnight"},
		{Max: 1},
		{Max: -1, Period: limit.Hour},
		{Max: limit.MaxCount + 1, Period: limit.Hour},
	} {
		l := store.Reservation{Principal: agent, Limit: limit.Limit{ID: "l", Rate: r}}
		if got, err := b.Begin(b.Context(), b.free(l)); err == nil {
			b.Errorf("%v: %+v", r, got)
		}
	}
}

func countersSurvive(b *suite) {
	for _, p := range periods {
		b.begin(b.free(rate("l", 1, p)))
	}
	b.reopen()
	for _, p := range periods {
		b.refused(b.free(rate("l", 1, p)))
	}
}
