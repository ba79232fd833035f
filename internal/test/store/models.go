package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func testModels(t *testing.T, open Opener) {
	t.Helper()
	for seed := range uint64(modelSeeds) {
		t.Run(fmt.Sprintf("windows/%d", seed), func(t *testing.T) {
			t.Parallel()
			modelWindows(newSuite(t, open), rand.New(rand.NewPCG(seed, 1)))
		})
		t.Run(fmt.Sprintf("ledger/%d", seed), func(t *testing.T) {
			t.Parallel()
			modelLedger(newSuite(t, open), rand.New(rand.NewPCG(seed, 2)))
		})
	}
}

// A naiveWindow stores every unit ever taken, by slot.
type naiveWindow struct {
	units map[int64]int64
	top   int64
	seen  bool
}

func (w *naiveWindow) at(p limit.Period, now time.Time) (slot, used, oldest int64) {
	slot = p.Slot(now)
	if w.seen {
		slot = max(slot, w.top)
	}
	oldest = slot + 1
	for k := p.Oldest(slot); k <= slot; k++ {
		if n := w.units[k]; n > 0 {
			used += n
			oldest = min(oldest, k)
		}
	}
	return slot, used, oldest
}

// modelWindows begins calls under two random limits at a time, releases some, changes the clock, and compares every result with the naive
// model.
func modelWindows(b *suite, rng *rand.Rand) {
	limits := make([]store.Reservation, 0, len(periods))
	for _, p := range periods {
		limits = append(limits, rate("l", 1+rng.Int64N(8), p))
	}
	model := map[limit.Period]*naiveWindow{}
	for _, p := range periods {
		model[p] = &naiveWindow{units: map[int64]int64{}}
	}
	var done []store.Admission
	admitted := 0
	for step := range windowSteps {
		switch scale := rng.IntN(12); {
		case scale < 8: // from milliseconds to weeks
			b.clock.Advance(time.Duration(rng.Int64N(int64(time.Millisecond) << (4 * scale))))
		case scale == 8:
			b.clock.Advance(-time.Duration(rng.Int64N(int64(time.Hour))))
		case scale == 9 && len(done) > 0:
			i := rng.IntN(len(done))
			back := done[i]
			done = append(done[:i], done[i+1:]...)
			b.settle(back, store.Released, store.NotSent)
			for _, t := range back.Taken {
				w := model[t.Period]
				if slot, _, _ := w.at(t.Period, b.clock.Now()); t.Slot >= t.Period.Oldest(slot) {
					w.units[t.Slot]--
					w.top = slot // a write moves the counter to the current slot
				}
			}
		case scale == 10 && step%100 == 0 && !b.neverJumps():
			b.reopen()
		default:
		}
		i := rng.IntN(len(limits) - 1) // not the lifetime, which would soon refuse everything
		j := rng.IntN(len(limits) - 1)
		pick := []store.Reservation{limits[i]}
		if j != i {
			pick = append(pick, limits[j])
		}
		if rng.IntN(400) == 0 {
			pick = append(pick, limits[len(limits)-1])
		}
		if admission, ok := modelStep(b, pick, model); ok {
			admitted++
			done = append(done, admission)
		}
	}
	if admitted < windowSteps/10 {
		b.Fatalf("only %d calls were admitted: the model proves nothing", admitted)
	}
}

func modelStep(b *suite, pick []store.Reservation, model map[limit.Period]*naiveWindow) (store.Admission, bool) {
	b.Helper()
	now := b.clock.Now()
	fits := true
	for _, l := range pick {
		if _, used, _ := model[l.Period].at(l.Period, now); used >= l.Max {
			fits = false
		}
	}
	admission, err := b.Begin(b.Context(), b.free(pick...))
	if !fits {
		e, ok := errors.AsType[*store.LimitError](err)
		if !ok {
			b.Fatalf("%v at %s: %v; the model refuses", pick, now, err)
		}
		_, used, oldest := model[e.Period].at(e.Period, now)
		if used < e.Max || e.Left != 0 || e.Resets != until(e.Period, oldest, now) {
			b.Fatalf("%+v; the model has %d used, oldest %d", e, used, oldest)
		}
		return admission, false
	}
	if err != nil {
		b.Fatalf("%v at %s: %v; the model admits", pick, now, err)
	}
	for i, l := range pick {
		w := model[l.Period]
		slot, used, oldest := w.at(l.Period, now)
		w.units[slot]++
		w.top, w.seen = slot, true
		want := limit.Status{Limit: l.Limit, Left: l.Max - used - 1, Resets: until(l.Period, min(oldest, slot), now)}
		if admission.Standing[i] != want || admission.Taken[i].Slot != slot {
			b.Fatalf("%+v in slot %d; the model has %+v in slot %d", admission.Standing[i], admission.Taken[i].Slot, want, slot)
		}
	}
	return admission, true
}

func until(p limit.Period, slot int64, now time.Time) time.Duration {
	if p == limit.Lifetime {
		return 0
	}
	return p.Frees(slot).Sub(now)
}

// modelLedger lets three agents spend, settle, fail and pay at random, and compares accounts and ledger with plain sums.
func modelLedger(b *suite, rng *rand.Rand) {
	type balance struct{ topped, held, captured int64 }
	type call struct {
		admission store.Admission
		state     store.State
		nano      int64
		key       accountKey
	}
	model := map[accountKey]*balance{}
	var calls []*call
	credit := int64(1000)
	for step := range ledgerSteps {
		k := accountKey{fmt.Sprintf("agent-%d", rng.IntN(3)), []string{"USD", "EUR"}[rng.IntN(2)]}
		if model[k] == nil {
			model[k] = &balance{}
		}
		m := model[k]
		b.clock.Advance(time.Duration(rng.IntN(2000)) * time.Millisecond)
		switch rng.IntN(10) {
		case 0:
			nano := 1 + rng.Int64N(500)
			b.topUp(pat.AgentID(k.agentID), money.Amount{Nano: nano, Currency: k.currency})
			m.topped += nano
		case 1:
			_, err := b.Sweep(b.Context())
			b.must(err)
			for _, c := range calls {
				if c.state == store.Held && !c.admission.Execution.Deadline.After(b.clock.Now()) {
					c.state = store.Unresolved
				}
			}
		case 2, 3, 4, 5:
			nano := 1 + rng.Int64N(300)
			r := b.free()
			r.Execution.AgentID = pat.AgentID(k.agentID)
			r.Candidates[0].Charge = money.Amount{Nano: nano, Currency: k.currency}
			r.Billing.Credit = money.Amount{Nano: credit, Currency: k.currency}
			admission, err := b.Begin(b.Context(), r)
			if fits := m.topped+credit-m.held-m.captured >= nano; fits != (err == nil) || err != nil && !errors.Is(err, store.ErrCredit) {
				b.Fatalf("%v for %d; the model has %+v", err, nano, m)
			}
			if err == nil {
				m.held += nano
				calls = append(calls, &call{admission, store.Held, nano, k})
			}
		default:
			if len(calls) == 0 {
				continue
			}
			c := calls[rng.IntN(len(calls))]
			to := []store.State{store.Captured, store.Released, store.Unresolved}[rng.IntN(3)]
			var err error
			legal := c.state == store.Unresolved && to != store.Unresolved
			if rng.IntN(2) == 0 && to != store.Unresolved {
				_, err = b.Resolve(b.Context(), service, c.admission.Execution.ID, to)
			} else {
				legal = legal || c.state == store.Held
				_, err = b.Settle(b.Context(), c.admission, store.Settlement{State: to, Outcome: store.Unknown})
			}
			if legal != (err == nil) || err != nil && !errors.Is(err, store.ErrSettled) {
				b.Fatalf("%s → %s: %v", c.state, to, err)
			}
			if err == nil {
				c.state = to
				if to != store.Unresolved {
					model[c.key].held -= c.nano
				}
				if to == store.Captured {
					model[c.key].captured += c.nano
				}
			}
		}
		if step%200 == 199 {
			b.reopen()
			b.balanced()
		}
	}
	for k, m := range model {
		list, err := b.Accounts(b.Context(), store.Filter{Service: service, AgentID: pat.AgentID(k.agentID)})
		b.must(err)
		for _, a := range list {
			if a.Currency == k.currency && (a.ToppedUp.Nano != m.topped || a.Held.Nano != m.held || a.Captured.Nano != m.captured) {
				b.Fatalf("%+v; the model has %+v", a, m)
			}
		}
	}
}
