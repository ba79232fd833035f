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
		"what was counted before is not given back":  restoredReturns,
		"every window is used up until it is over":   restoredWindows,
		"limits of the service's own go on":          restoredOwnLimits,
		"a lifetime counter keeps what is known":     restoredLifetime,
		"other processes read it":                    restoredElsewhere,
		"PATs and signing keys end, agreements stay": restoredPATs,
		"charges are as they were":                   restoredCharges,
	})
}

func restoredWindows(b *suite) {
	for _, p := range periods {
		if p != limit.Lifetime {
			b.begin(b.free(rate("known", 10, p)))
		}
	}
	b.clock.Advance(time.Millisecond)
	b.must(b.MarkRestored(b.Context()))
	at := b.clock.Now()
	for i, reopen := range []bool{false, true} {
		if reopen {
			b.reopen()
		}
		for _, p := range periods {
			if p == limit.Lifetime {
				continue
			}
			frees := p.Frees(p.Slot(at))
			for _, id := range []string{"known", "begun after the backup"} {
				for _, most := range []int64{0, 10, limit.MaxCount} {
					r := b.refused(b.free(rate(id, most, p)))
					if r.Left != 0 || r.RetryAfter != frees.Sub(b.clock.Now()) {
						b.Fatalf("round %d, %s of %s: %+v; want a retry after %s", i, id, p, r, frees.Sub(b.clock.Now()))
					}
				}
			}
		}
	}
	for _, p := range []limit.Period{limit.Second, limit.Minute, limit.Hour, limit.Day, limit.Week, limit.Month, limit.Year} {
		frees := p.Frees(p.Slot(at))
		b.clock.Advance(frees.Sub(b.clock.Now()) - time.Millisecond)
		b.refused(b.free(rate("known", 10, p)))
		b.clock.Advance(time.Millisecond)
		if got := b.begin(b.free(rate("known", 10, p))); got.Standing[0].Left != 9 {
			b.Fatalf("%s: got %+v; want [0].Left 9", p, got.Standing)
		}
	}
}

func restoredOwnLimits(b *suite) {
	r := limit.Rate{Max: 200, Period: limit.Hour}
	own := []store.Reservation{{Principal: agent, Limit: limit.OfToken(r)}, {Limit: limit.OfService("example.com:buy:v1", r)}}
	b.begin(b.free(own...))
	b.must(b.MarkRestored(b.Context()))
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
	b.must(b.MarkRestored(b.Context()))
	b.begin(b.free(rate("l", 2, limit.Lifetime)))
	b.refused(b.free(rate("l", 2, limit.Lifetime)))
}

func restoredElsewhere(b *suite) {
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	_, seq, err := other.Changes(b.Context(), 0)
	b.must(err)
	b.must(b.MarkRestored(b.Context()))
	_, _, err = other.Changes(b.Context(), seq)
	b.must(err)
	if _, err := other.Begin(b.Context(), b.free(rate("l", 5, limit.Hour))); err == nil {
		b.Fatal("admitted in a window that counts as used up")
	}
}

func restoredPATs(b *suite) {
	a := b.agree(b.agreement("n"))
	b.issue(a)
	b.must(b.AddSigningKey(b.Context(), keys.SigningKey{ID: "kid", CreatedAt: start}))
	_, seq, err := b.Changes(b.Context(), 0)
	b.must(err)
	b.clock.Advance(time.Minute)
	b.must(b.MarkRestored(b.Context()))
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
	b.must(b.MarkRestored(b.Context()))
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
	b.must(b.MarkRestored(b.Context()))
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
