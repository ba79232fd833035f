package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func testRefunds(t *testing.T, open Opener) {
	t.Helper()
	balancedEach(t, open, map[string]func(*suite){
		"a captured charge is refunded":            chargeRefunded,
		"refunds never exceed the charge":          refundBounded,
		"parallel refunds never exceed the charge": refundBoundedAtOnce,
		"a refund with a name is made once":        refundOnce,
		"only captured charges are refunded":       notCaptured,
		"a refund is an entry of the chain":        refundChained,
		"revenue is what was captured":             revenueGroups,
		"revenue of more than the largest amount":  revenueOfMuch,
	})
}

// captured makes a call that is charged, and returns its id.
func (b *suite) captured(nano int64) string {
	b.Helper()
	return b.settle(b.begin(b.paid(nano)), store.Captured, store.Done).ID
}

func (b *suite) refund(r store.Refund) store.Refund {
	b.Helper()
	r.Service = service
	made, _, err := b.Refund(b.Context(), r)
	b.must(err)
	return made
}

func (b *suite) noRefund(r store.Refund, want error) {
	b.Helper()
	r.Service = service
	made, _, err := b.Refund(b.Context(), r)
	b.want(err, want)
	if made != (store.Refund{}) {
		b.Errorf("got %+v", made)
	}
}

func chargeRefunded(b *suite) {
	id := b.captured(10)
	b.clock.Advance(time.Minute)
	part := b.refund(store.Refund{ExecutionID: id, Amount: usd(3), Name: "part", Reason: "late"})
	rest := b.refund(store.Refund{ExecutionID: id, Reason: "wrong"})
	if part.Number != 1 || rest.Number != 2 || rest.Amount != usd(7) || rest.Charge != usd(10) || rest.AgentID != agent ||
		!rest.At.Equal(b.clock.Now()) || !rest.ChargedAt.Equal(start) {
		b.Errorf("got %+v and %+v", part, rest)
	}
	if a := b.account(); a.ToppedUp != usd(10) || a.Captured != usd(10) {
		b.Errorf("got %+v", a)
	}
	b.reopen()
	list, err := b.Refunds(b.Context(), store.RefundFilter{Service: service})
	b.must(err)
	if d := cmp.Diff([]store.Refund{rest, part}, list); d != "" {
		b.Errorf("differs (-want +got):\n%s", d)
	}
	list, err = b.Refunds(b.Context(), store.RefundFilter{Service: service, ExecutionID: id, Before: 2, Limit: 1})
	b.must(err)
	if len(list) != 1 || list[0].Name != "part" || list[0].Reason != "late" {
		b.Errorf("got %+v", list)
	}
	if e, err := b.Execution(b.Context(), service, id); err != nil || e.State != store.Captured {
		b.Errorf("%+v, %v", e, err)
	}
}

func refundBounded(b *suite) {
	id := b.captured(10)
	var over *store.RefundError
	if _, _, err := b.Refund(b.Context(), store.Refund{Service: service, ExecutionID: id, Amount: usd(11)}); !errors.As(err, &over) ||
		over.Left != usd(10) {
		b.Errorf("got %v", err)
	}
	b.refund(store.Refund{ExecutionID: id, Amount: usd(6), Name: "1"})
	if _, _, err := b.Refund(b.Context(), store.Refund{Service: service, ExecutionID: id, Amount: usd(5)}); !errors.As(err, &over) ||
		over.Left != usd(4) {
		b.Errorf("got %v", err)
	}
	b.refund(store.Refund{ExecutionID: id})
	if _, _, err := b.Refund(b.Context(), store.Refund{Service: service, ExecutionID: id, Name: "3"}); !errors.As(err, &over) ||
		!over.Left.IsZero() {
		b.Errorf("got %v", err)
	}
	b.noRefund(store.Refund{ExecutionID: id, Name: "4", Amount: money.Amount{Nano: 1, Currency: "EUR"}}, money.ErrAmount)
	b.noRefund(store.Refund{ExecutionID: id, Amount: usd(-1)}, money.ErrAmount)
	b.noRefund(store.Refund{ExecutionID: id, Amount: usd(0)}, money.ErrAmount)
}

// refundBoundedAtOnce refunds one charge through two processes at once. It checks that the refunds add up to the charge, and that the
// numbers of the credit notes have no gaps.
func refundBoundedAtOnce(b *suite) {
	id := b.captured(10)
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	var refunded atomic.Int64
	var all sync.WaitGroup
	for i := range 30 {
		engine := []Engine{b.Engine, other}[i%2]
		all.Go(func() {
			r := store.Refund{Service: service, ExecutionID: id, Amount: usd(1), Name: fmt.Sprint(i)}
			made, _, err := engine.Refund(b.Context(), r)
			var over *store.RefundError
			switch {
			case err == nil:
				refunded.Add(made.Amount.Nano)
			case !errors.As(err, &over):
				b.Error(err)
			}
		})
	}
	all.Wait()
	if refunded.Load() != 10 {
		b.Errorf("refunded %d of 10", refunded.Load())
	}
	list, err := b.Refunds(b.Context(), store.RefundFilter{Service: service})
	b.must(err)
	for i, r := range list {
		if r.Number != int64(len(list)-i) {
			b.Errorf("the numbers have a gap: %+v", list)
		}
	}
}

func refundOnce(b *suite) {
	id := b.captured(10)
	ask := store.Refund{Service: service, ExecutionID: id, Amount: usd(4), Name: "ticket 7", Reason: "late"}
	first := b.refund(ask)
	b.reopen()
	again, repeated, err := b.Refund(b.Context(), ask)
	b.must(err)
	if !repeated || again != first {
		b.Errorf("got %+v, %v; want %+v", again, repeated, first)
	}
	other := ask
	other.Amount = usd(5)
	b.noRefund(other, store.ErrReferenceUsed)
	rest := b.refund(store.Refund{ExecutionID: id})
	if again, repeated, err := b.Refund(b.Context(), store.Refund{Service: service, ExecutionID: id}); err != nil || !repeated ||
		again != rest {
		b.Errorf("got %+v, %v, %v", again, repeated, err)
	}
	if a := b.account(); a.ToppedUp != usd(10) {
		b.Errorf("got %+v", a)
	}
}

func notCaptured(b *suite) {
	held := b.begin(b.paid(5))
	b.noRefund(store.Refund{ExecutionID: held.Execution.ID}, store.ErrNotCaptured)
	released := b.settle(held, store.Released, store.Failed)
	b.noRefund(store.Refund{ExecutionID: released.ID}, store.ErrNotCaptured)
	free := b.settle(b.begin(b.keyed("key")), store.Captured, store.Done)
	b.noRefund(store.Refund{ExecutionID: free.ID}, store.ErrNotCaptured)
	b.noRefund(store.Refund{ExecutionID: "none"}, store.ErrNotFound)
	id := b.captured(5)
	if _, _, err := b.Refund(b.Context(), store.Refund{Service: "another", ExecutionID: id}); !errors.Is(err, store.ErrNotFound) {
		b.Errorf("got %v", err)
	}
}

// refundChained checks that the entry of a refund is a top-up whose reference names the execution, and that the chain verifies.
func refundChained(b *suite) {
	id := b.captured(10)
	made := b.refund(store.Refund{ExecutionID: id, Amount: usd(3), Name: "part"})
	list, err := b.Entries(b.Context(), store.EntryFilter{Service: service, AgentID: agent, Currency: "USD", After: made.K - 1, Limit: 1})
	b.must(err)
	e, err := evidence.ParseEntry(list[0].Bytes)
	b.must(err)
	if e.Kind != evidence.KindTopUp || e.Amount != usd(3) || e.Reference != "refund:"+id+":part" || e.K != made.K {
		b.Errorf("got %+v", e)
	}
	b.must(b.CheckBalance(b.Context()))
}

func revenueGroups(b *suite) {
	first := b.captured(10)
	b.captured(5)
	b.settle(b.begin(b.paid(100)), store.Released, store.Failed)
	b.begin(b.paid(100)) // the charge is still held
	b.clock.Advance(31 * 24 * time.Hour)
	other := b.paid(7)
	other.Execution.AgentID = "agent-2"
	b.settle(b.begin(other), store.Captured, store.Done)
	b.refund(store.Refund{ExecutionID: first, Amount: usd(4)})
	intent := other.Execution.Intent
	revenue := func(name string, calls, captured, refunded int64) store.Revenue {
		return store.Revenue{Name: name, Currency: "USD", Calls: calls, Captured: store.Sum{Nano: captured}, Refunded: store.Sum{Nano: refunded}}
	}
	later := b.clock.Now()
	for name, c := range map[string]struct {
		filter store.RevenueFilter
		want   []store.Revenue
	}{
		"agents":  {store.RevenueFilter{By: store.ByAgent}, []store.Revenue{revenue(agent, 2, 15, 4), revenue("agent-2", 1, 7, 0)}},
		"intents": {store.RevenueFilter{By: store.ByIntent}, []store.Revenue{revenue(intent, 3, 22, 4)}},
		"months": {store.RevenueFilter{By: store.ByMonth}, []store.Revenue{
			revenue(start.UTC().Format("2006-01"), 2, 15, 0), revenue(later.UTC().Format("2006-01"), 1, 7, 4),
		}},
		"a later period": {
			store.RevenueFilter{By: store.ByAgent, From: later.Add(-time.Hour)},
			[]store.Revenue{revenue(agent, 0, 0, 4), revenue("agent-2", 1, 7, 0)},
		},
		"the first page": {store.RevenueFilter{By: store.ByAgent, Limit: 1}, []store.Revenue{revenue(agent, 2, 15, 4)}},
		"the next page":  {store.RevenueFilter{By: store.ByAgent, Limit: 1, After: agent + " USD"}, []store.Revenue{revenue("agent-2", 1, 7, 0)}},
	} {
		c.filter.Service = service
		got, err := b.Revenue(b.Context(), c.filter)
		b.must(err)
		if d := cmp.Diff(c.want, got); d != "" {
			b.Errorf("%s differ (-want +got):\n%s", name, d)
		}
	}
}

// revenueOfMuch checks that sums above the range of an amount are exact.
func revenueOfMuch(b *suite) {
	const much = 4_000_000_000_999_999_999
	for i := range 3 {
		r := b.paid(much)
		r.Execution.AgentID = []pat.AgentID{"a", "b", "c"}[i]
		r.Billing = store.Billing{Credit: usd(much)}
		b.settle(b.begin(r), store.Captured, store.Done)
	}
	got, err := b.Revenue(b.Context(), store.RevenueFilter{Service: service, By: store.ByMonth})
	b.must(err)
	if len(got) != 1 || got[0].Calls != 3 || got[0].Captured.Plus(store.Sum{}) != (store.Sum{Units: 12_000_000_002, Nano: 999_999_997}) {
		b.Errorf("got %+v", got)
	}
}
