package storetest

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

func testRestored(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"units counted before are not released":      restoredReturns,
		"every rolling window is used up":            restoredWindows,
		"a month keeps its count, and an allowance":  restoredCalendar,
		"agents that the backup lacks start anew":    restoredStrangers,
		"a budget keeps what was spent, and more":    restoredBudget,
		"limits continue from the backup":            restoredBackup,
		"limits start anew":                          restoredFresh,
		"the last choice counts":                     restoredTwice,
		"invalid limits change nothing":              restoredInvalid,
		"limits of the service itself continue":      restoredOwnLimits,
		"a lifetime counter keeps what is known":     restoredLifetime,
		"other processes read the restore":           restoredElsewhere,
		"PATs and signing keys end, agreements stay": restoredPATs,
		"charges do not change":                      restoredCharges,
	})
}

// restore marks the state as restored. The agent of the suite is part of the restored state.
func (b *suite) restore(mode store.RestoreMode, allowance int64) {
	b.Helper()
	if _, err := b.Agent(b.Context(), service, agent); err != nil {
		b.agree(b.agreement("before"))
	}
	b.clock.Advance(time.Millisecond)
	b.must(b.MarkRestored(b.Context(), store.RestoredLimits{Mode: mode, Allowance: allowance}))
}

// leftAfter returns how many units of a limit are left after one more call.
func (b *suite) leftAfter(r store.Reservation) int64 {
	b.Helper()
	return b.begin(b.free(r)).Standing[0].Left
}

func restoredWindows(b *suite) {
	rolling := []limit.Period{limit.Second, limit.Minute, limit.Hour, limit.Day, limit.Week}
	for _, p := range rolling {
		b.begin(b.free(rate("known", 10, p)))
	}
	b.restore(store.RestoreUsed, 10)
	at := b.clock.Now()
	for i, reopen := range []bool{false, true} {
		if reopen {
			b.reopen()
		}
		for _, p := range rolling {
			frees := p.Frees(p.Slot(at))
			for _, id := range []string{"known", "begun after the backup"} {
				for _, most := range []int64{0, 10, limit.MaxCount} {
					r := b.refused(b.free(rate(id, most, p)))
					if r.Left != 0 || r.RetryAfter != frees.Sub(b.clock.Now()) || !r.Restored {
						b.Fatalf("round %d, %s of %s: %+v; want a retry after %s", i, id, p, r, frees.Sub(b.clock.Now()))
					}
				}
			}
		}
	}
	for _, p := range rolling {
		frees := p.Frees(p.Slot(at))
		b.clock.Advance(frees.Sub(b.clock.Now()) - time.Millisecond)
		b.refused(b.free(rate("known", 10, p)))
		b.clock.Advance(time.Millisecond)
		if got := b.leftAfter(rate("known", 10, p)); got != 9 {
			b.Fatalf("%s: %d are left; want 9", p, got)
		}
	}
}

func restoredCalendar(b *suite) {
	for _, p := range []limit.Period{limit.Month, limit.Year} {
		b.begin(b.free(rate("known", 20, p)))
	}
	b.restore(store.RestoreUsed, 11)
	for _, p := range []limit.Period{limit.Month, limit.Year} {
		ends := p.Frees(p.Slot(b.clock.Now()))
		for _, reopen := range []bool{false, true} {
			if reopen {
				b.reopen()
			}
			want := map[bool]int64{false: 20 - 1 - 3 - 1, true: 20 - 1 - 3 - 2}[reopen] // 11% of 20, rounded up
			if got := b.begin(b.free(rate("known", 20, p))).Standing[0]; got.Left != want || got.Resets != ends.Sub(b.clock.Now()) {
				b.Fatalf("%s: %+v; want %d left, until %s", p, got, want, ends)
			}
		}
		for range 20 - 1 - 3 - 2 {
			b.begin(b.free(rate("known", 20, p)))
		}
		r := b.refused(b.free(rate("known", 20, p)))
		if !r.Restored || r.RetryAfter != ends.Sub(b.clock.Now()) {
			b.Fatalf("%s: %+v; want a retry after %s", p, r, ends.Sub(b.clock.Now()))
		}
		if r := b.refused(b.free(rate("known", 3, p))); r.Restored {
			b.Fatalf("%s: a limit that is used up without the allowance is held back by the restore: %+v", p, r)
		}
	}
	end := limit.Month.Frees(limit.Month.Slot(b.clock.Now()))
	b.clock.Advance(end.Sub(b.clock.Now()))
	if got := b.leftAfter(rate("known", 20, limit.Month)); got != 19 {
		b.Errorf("in the next month, %d are left; want 19", got)
	}
}

// restoredBudget spends under the consent of a person who gave it before the backup.
func restoredBudget(b *suite) {
	consent, policy := b.agreement("consent")
	consent.AgentID, consent.KeyID, consent.Assurance = spender, "", pat.Consent
	b.agree(consent, policy)
	b.paidIn(cents(10_000))
	b.settle(b.begin(b.within(cents(30), cents(100), limit.Month)), store.Captured, store.Done)
	b.settle(b.begin(b.within(cents(10), cents(100), limit.Day)), store.Captured, store.Done)
	b.restore(store.RestoreUsed, 10)
	for range 2 {
		if r := b.refused(b.within(cents(1), cents(100), limit.Day)); !r.Restored {
			b.Fatalf("a budget of a day: got %+v", r)
		}
		r := b.refused(b.within(cents(61), cents(100), limit.Month))
		if left := limit.AllowanceLeft(r.Left, "USD"); left != cents(60) {
			b.Fatalf("a budget of a month: got %+v with %s left, want 0.60 USD", r, left)
		}
		b.reopen()
	}
	b.begin(b.within(cents(60), cents(100), limit.Month))
}

// restoredStrangers begins calls of agents that agreed only after the restore, also under a static agreement.
func restoredStrangers(b *suite) {
	b.restore(store.RestoreUsed, 10)
	b.clock.Advance(time.Millisecond)
	for _, p := range []limit.Period{limit.Second, limit.Hour, limit.Month} {
		for _, s := range []pat.Assurance{pat.Fresh, pat.Static} {
			a, policy := b.agreement("after-" + string(p) + string(s))
			a.AgentID, a.KeyID, a.Assurance = pat.AgentID("late-"+string(p)), keys.ID("key-"+string(p)), s
			b.agree(a, policy)
			r := rate("new", 10, p)
			r.Principal = pat.PrincipalOf(a.AgentID, s)
			for _, want := range []int64{9, 8} {
				if got := b.leftAfter(r); got != want {
					b.Errorf("%s of %s: %d are left; want %d", p, r.Principal, got, want)
				}
			}
		}
	}
	if r := b.refused(b.free(rate("new", 10, limit.Hour))); !r.Restored {
		b.Errorf("an agent of the backup: %+v; want Restored", r)
	}
	held := b.HeldLimits()
	if held.Limits != store.DefaultRestoredLimits() || len(held.Restored.Periods) != 7 || !held.Stepped.At.IsZero() {
		b.Errorf("held back: %+v; want 7 periods", held)
	}
	b.clock.Advance(2 * time.Hour)
	if held := b.HeldLimits().Restored.Periods; len(held) != 4 || held[0].Period != limit.Day {
		b.Errorf("after two hours, held back: %+v; want day, week, month and year", held)
	}
}

func restoredBackup(b *suite) {
	b.begin(b.free(rate("l", 10, limit.Hour)))
	b.restore(store.RestoreBackup, 0)
	if got := b.leftAfter(rate("l", 10, limit.Hour)); got != 8 {
		b.Errorf("%d are left; want 8", got)
	}
	if held := b.HeldLimits(); len(held.Restored.Periods) != 0 || held.Restored.At.IsZero() {
		b.Errorf("held back: %+v; want no period", held)
	}
}

func restoredFresh(b *suite) {
	own := store.Reservation{Limit: limit.OfService("example.com:buy:v1", limit.Rate{Max: 10, Period: limit.Hour})}
	for _, r := range []store.Reservation{rate("l", 10, limit.Hour), rate("l", 10, limit.Month), rate("l", 10, limit.Lifetime), own} {
		b.begin(b.free(r))
	}
	b.restore(store.RestoreFresh, 0)
	for _, reopen := range []bool{false, true} {
		if reopen {
			b.reopen()
		}
		less := map[bool]int64{true: 1}[reopen]
		for r, want := range map[store.Reservation]int64{
			rate("l", 10, limit.Hour): 9, rate("l", 10, limit.Month): 9, rate("l", 10, limit.Lifetime): 8, own: 9,
		} {
			if got := b.leftAfter(r); got != want-less {
				b.Errorf("%s of %s: %d are left; want %d", r.ID, r.Period, got, want-less)
			}
		}
	}
}

// restoredTwice restores a state that contains an earlier restore: a backup that was made soon after that restore, or the same state again.
// The last choice of the operator counts.
func restoredTwice(b *suite) {
	b.begin(b.free(rate("l", 10, limit.Hour)))
	b.restore(store.RestoreUsed, 10)
	if r := b.refused(b.free(rate("l", 10, limit.Hour))); !r.Restored {
		b.Errorf("the first restore: %+v; want Restored", r)
	}
	b.clock.Advance(time.Minute)
	b.restore(store.RestoreBackup, 0)
	if got := b.leftAfter(rate("l", 10, limit.Hour)); got != 8 {
		b.Errorf("after --limits backup, %d are left; want 8", got)
	}
	b.restore(store.RestoreFresh, 0)
	if got := b.leftAfter(rate("l", 10, limit.Hour)); got != 9 {
		b.Errorf("after --limits fresh, %d are left; want 9", got)
	}
	b.restore(store.RestoreUsed, 10)
	b.clock.Advance(time.Minute)
	b.reopen()
	if r := b.refused(b.free(rate("l", 10, limit.Hour))); !r.Restored {
		b.Errorf("the last restore: %+v; want Restored", r)
	}
}

func restoredInvalid(b *suite) {
	for _, l := range []store.RestoredLimits{{}, {Mode: "none"}, {Mode: store.RestoreUsed, Allowance: 101}, {Mode: store.RestoreUsed, Allowance: -1}} {
		if err := b.MarkRestored(b.Context(), l); err == nil {
			b.Errorf("%+v was accepted", l)
		}
	}
	if at := b.RestoredAt(); !at.IsZero() {
		b.Errorf("restored at %s", at)
	}
}

func restoredOwnLimits(b *suite) {
	r := limit.Rate{Max: 200, Period: limit.Hour}
	own := []store.Reservation{{Principal: agent, Limit: limit.OfToken(r)}, {Limit: limit.OfService("example.com:buy:v1", r)}}
	b.begin(b.free(own...))
	b.must(b.MarkRestored(b.Context(), store.DefaultRestoredLimits()))
	for _, reopen := range []bool{false, true} {
		if reopen {
			b.reopen()
		}
		for _, s := range b.begin(b.free(own...)).Standing {
			if s.Left < 197 {
				b.Errorf("got %+v, want Left at least 197", s)
			}
		}
	}
}

func restoredLifetime(b *suite) {
	b.begin(b.free(rate("l", 2, limit.Lifetime)))
	b.must(b.MarkRestored(b.Context(), store.DefaultRestoredLimits()))
	b.begin(b.free(rate("l", 2, limit.Lifetime)))
	b.refused(b.free(rate("l", 2, limit.Lifetime)))
}

func restoredElsewhere(b *suite) {
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	_, seq, err := other.Changes(b.Context(), 0)
	b.must(err)
	b.restore(store.RestoreUsed, 10)
	_, _, err = other.Changes(b.Context(), seq)
	b.must(err)
	if _, err := other.Begin(b.Context(), b.free(rate("l", 5, limit.Hour))); err == nil {
		b.Fatal("admitted in a window that counts as used up")
	}
	b.clock.Advance(time.Millisecond)
	a, policy := b.agreement("late")
	a.AgentID, a.KeyID = "late", "late"
	b.agree(a, policy)
	late := rate("l", 5, limit.Hour)
	late.Principal = "late"
	if _, err := other.Begin(b.Context(), b.free(late)); err != nil {
		b.Errorf("an agent that agreed after the restore: %v", err)
	}
}

func restoredPATs(b *suite) {
	a := b.agree(b.agreement("n"))
	b.issue(a)
	b.must(b.AddSigningKey(b.Context(), keys.SigningKey{ID: "kid", CreatedAt: start}))
	_, seq, err := b.Changes(b.Context(), 0)
	b.must(err)
	b.clock.Advance(time.Minute)
	b.must(b.MarkRestored(b.Context(), store.DefaultRestoredLimits()))
	if list, err := b.SigningKeys(b.Context(), b.clock.Now()); err != nil || len(list) != 0 {
		b.Fatalf("got %+v, %v; want none, nil", list, err)
	}
	if tokens, err := b.Tokens(b.Context(), store.TokenFilter{Service: service}); err != nil || len(tokens) != 1 || !tokens[0].Revoked {
		b.Fatalf("got %+v, %v", tokens, err)
	}
	changes, _, err := b.Changes(b.Context(), seq)
	b.must(err)
	var ended, retired bool
	for _, c := range changes {
		ended = ended || c.Revocation != nil && c.Revocation.Kind == pat.RevokedPolicy && c.Revocation.Subject == a.PolicyDigest &&
			c.Revocation.At.Equal(b.clock.Now())
		retired = retired || c.Key != nil && c.Key.ID == "kid" && c.Key.NotAfter.Equal(b.clock.Now())
	}
	if !ended || !retired {
		b.Fatalf("got %+v", changes)
	}
	if got, err := b.Agreement(b.Context(), service, a.ID); err != nil || got.State != pat.AgreementActive {
		b.Fatalf("got %+v, %v; want no error and State %v", got, err, pat.AgreementActive)
	}
	b.must(b.AddSigningKey(b.Context(), keys.SigningKey{ID: "next", CreatedAt: b.clock.Now()}))
	b.clock.Advance(time.Second)
	k := b.issue(a)
	tokens, err := b.Tokens(b.Context(), store.TokenFilter{Service: service, ValidAt: b.clock.Now()})
	if err != nil || len(tokens) != 1 || tokens[0].ID != k.ID {
		b.Fatalf("got %+v, %v; want no error, length 1 and [0].ID %v", tokens, err, k.ID)
	}
}

func restoredCharges(b *suite) {
	b.topUp(agent, usd(50))
	b.settle(b.begin(b.paid(5)), store.Captured, store.Done)
	b.begin(b.paid(7))
	before := b.account()
	b.must(b.MarkRestored(b.Context(), store.DefaultRestoredLimits()))
	if after := b.account(); after != before {
		b.Fatalf("%+v, before %+v", after, before)
	}
	b.balanced()
	b.begin(b.paid(1)) // a charge without a limit has no window
}

func restoredReturns(b *suite) {
	own := store.Reservation{Principal: agent, Limit: limit.OfToken(limit.Rate{Max: 100, Period: limit.Hour})}
	leased := b.lease(demand(own, 20, 0))[0]
	admission := b.begin(b.recorded(own))
	b.must(b.MarkRestored(b.Context(), store.DefaultRestoredLimits()))
	left := b.lease(demand(own, 1, 0))[0].Left
	back := store.LeaseReturn{
		CounterSlot: store.CounterSlot{Principal: agent, LimitID: own.ID, Period: limit.Hour, Slot: leased.Slot, Restored: leased.Restored},
		Units:       leased.Units,
	}
	got, err := b.Lease(b.Context(), store.LeaseRequest{
		Service: service, Returns: []store.LeaseReturn{back}, Demands: []store.LeaseDemand{demand(own, 1, 0)},
	})
	b.must(err)
	if got[0].Left != left-got[0].Units {
		b.Errorf("after an older lease was returned, %d units are left and %d were leased; before, %d were left", got[0].Left, got[0].Units, left)
	}
	left = got[0].Left
	b.settle(admission, store.Released, store.NotSent)
	if got := b.lease(demand(own, 1, 0))[0]; got.Left != left-got.Units {
		b.Errorf("after an older call was not sent, %d units are left and %d were leased; before, %d were left", got.Left, got.Units, left)
	}
}
