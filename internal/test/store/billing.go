package storetest

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func testBilling(t *testing.T, open Opener) {
	t.Helper()
	balancedEach(t, open, map[string]func(*suite){
		"credit bounds what is owed":              creditBounds,
		"prepaid agents spend what they have":     prepaidSpends,
		"topping up pays what is owed":            topUpPays,
		"a top-up with a reference is made once":  topUpOnce,
		"a top-up is taken back":                  topUpReversed,
		"currencies have separate accounts":       currenciesApart,
		"released charges come back":              releasedComeBack,
		"unapproved agents share one credit":      unapprovedShare,
		"newcomers each owe a part of it":         newcomersOwe,
		"the share fades":                         shareFades,
		"agents that used the share are listed":   shareUsers,
		"an approved agent leaves the share":      approvedLeave,
		"approval by the operator ends sharing":   setAgentLeaves,
		"an invalid amount is refused":            invalidAmounts,
		"sums cannot overflow":                    noOverflow,
		"a charge refused by a limit is not held": limitBeforeCharge,
	})
}

// charge begins a paid call of an agent.
func (b *suite) charge(id pat.AgentID, nano int64, billing store.Billing) (store.Admission, error) {
	r := b.paid(nano)
	r.Execution.AgentID, r.Billing = id, billing
	return b.Begin(b.Context(), r)
}

func (b *suite) mustCharge(id string, nano int64, billing store.Billing) store.Admission {
	b.Helper()
	admission, err := b.charge(pat.AgentID(id), nano, billing)
	b.must(err)
	return admission
}

func (b *suite) overCredit(id string, nano int64, billing store.Billing) {
	b.Helper()
	admission, err := b.charge(pat.AgentID(id), nano, billing)
	b.want(err, store.ErrCredit)
	if admission.Recorded {
		b.Fatalf("got %+v", admission)
	}
}

func creditBounds(b *suite) {
	on := store.Billing{Credit: usd(10)}
	b.overCredit(agent, 11, on)
	held := b.mustCharge(agent, 4, on)
	unresolved := b.mustCharge(agent, 4, on)
	b.overCredit(agent, 3, on)
	b.settle(held, store.Captured, store.Done)
	b.settle(unresolved, store.Unresolved, store.Unknown)
	b.overCredit(agent, 3, on) // captured and unresolved charges count like held ones
	b.mustCharge(agent, 2, on)
	b.overCredit(agent, 1, on)
	b.mustCharge("agent-2", 10, on)
	if a := b.account(); a != (store.Account{AgentID: agent, Currency: "USD", ToppedUp: usd(0), Held: usd(6), Captured: usd(4)}) {
		b.Fatalf("got %+v", a)
	}
	b.overCredit("agent-3", 1, store.Billing{})
}

func prepaidSpends(b *suite) {
	on := store.Billing{Prepaid: true, Credit: usd(100)}
	b.overCredit(agent, 1, on)
	b.topUp(agent, usd(5))
	b.settle(b.mustCharge(agent, 5, on), store.Captured, store.Done)
	b.overCredit(agent, 1, on)
	b.topUp(agent, usd(2))
	b.mustCharge(agent, 2, on)
	b.reopen()
	b.overCredit(agent, 1, on)
	entries, err := b.Ledger(b.Context(), store.Filter{})
	b.must(err)
	if n := entries[1]; n.Amount != usd(2) || n.From != "" || n.To != "" || n.By != "operator" || n.AgentID != agent {
		b.Fatalf("got %+v", n)
	}
}

func topUpPays(b *suite) {
	on := store.Billing{Credit: usd(10)}
	b.mustCharge(agent, 10, on)
	b.overCredit(agent, 1, on)
	b.topUp(agent, usd(7))
	b.mustCharge(agent, 7, on)
	b.overCredit(agent, 1, on)
}

// topUp adds to an agent's balance.
func (b *suite) topUp(id pat.AgentID, amount money.Amount) {
	b.Helper()
	repeated, err := b.TopUp(b.Context(), store.TopUp{Service: service, AgentID: id, Amount: amount})
	b.must(err)
	if repeated {
		b.Fatal("a top-up without a reference was reported as repeated")
	}
}

func topUpOnce(b *suite) {
	topUp := func(u store.TopUp) (bool, error) { return b.TopUp(b.Context(), u) }
	one := store.TopUp{Service: service, AgentID: agent, Amount: usd(5), Reference: "payment 1"}
	for i := range 3 {
		repeated, err := topUp(one)
		b.must(err)
		if repeated != (i > 0) {
			b.Fatalf("time %d: repeated %v, want %v", i, repeated, i > 0)
		}
		b.reopen()
	}
	for _, other := range []store.TopUp{
		{Service: service, AgentID: agent, Amount: usd(6), Reference: "payment 1"},
		{Service: service, AgentID: "another", Amount: usd(5), Reference: "payment 1"},
		{Service: service, AgentID: agent, Amount: money.Amount{Nano: 5, Currency: "EUR"}, Reference: "payment 1"},
		{Service: service, AgentID: agent, Amount: usd(5), Reference: "payment 1", Reverse: true},
	} {
		_, err := topUp(other)
		b.want(err, store.ErrReferenceUsed)
	}
	elsewhere := one
	elsewhere.Service = "elsewhere"
	if repeated, err := topUp(elsewhere); err != nil || repeated {
		b.Fatalf("got %v, %v; want false, nil", repeated, err)
	}
	if a := b.account(); a.ToppedUp != usd(5) {
		b.Fatalf("got %+v", a)
	}
	entries, err := b.Ledger(b.Context(), store.Filter{Service: service})
	b.must(err)
	if len(entries) != 1 || entries[0].Reference != "payment 1" {
		b.Fatalf("got %+v; want length 1 and [0].Reference %q", entries, "payment 1")
	}
	two := store.TopUp{Service: service, AgentID: agent, Amount: usd(7), Reference: "payment 2"}
	concurrently(b, 20, []Engine{b}, func(e Engine, _ int) error {
		_, err := e.TopUp(b.Context(), two)
		return err
	}, anyOf())
	if a := b.account(); a.ToppedUp != usd(12) {
		b.Fatalf("got %+v", a)
	}
}

func topUpReversed(b *suite) {
	on := store.Billing{Prepaid: true}
	back := func(nano int64) error {
		_, err := b.TopUp(b.Context(), store.TopUp{Service: service, AgentID: agent, Amount: usd(nano), Reverse: true})
		return err
	}
	b.want(back(1), money.ErrAmount)
	b.topUp(agent, usd(10))
	b.settle(b.mustCharge(agent, 8, on), store.Captured, store.Done)
	b.must(back(6)) // more than is left: the agent then owes the rest
	b.overCredit(agent, 1, on)
	b.want(back(5), money.ErrAmount)
	b.topUp(agent, usd(4))
	b.overCredit(agent, 1, on)
	b.topUp(agent, usd(1))
	b.mustCharge(agent, 1, on)
	entries, err := b.Ledger(b.Context(), store.Filter{})
	b.must(err)
	if n := entries[3]; n.Amount != usd(-6) || n.From != "" || n.To != "" || n.By != "operator" {
		b.Fatalf("got %+v", entries)
	}
}

func currenciesApart(b *suite) {
	on := store.Billing{Credit: money.Amount{Nano: 10, Currency: "EUR"}}
	b.overCredit(agent, 1, on)
	b.topUp(agent, usd(3))
	b.mustCharge(agent, 3, on)
	b.overCredit(agent, 1, on)
	r := b.paid(1)
	r.Candidates[0].Charge.Currency, r.Billing = "EUR", on
	b.begin(r)
}

func releasedComeBack(b *suite) {
	on := store.Billing{Credit: usd(10), Unapproved: true}
	for _, o := range []store.Outcome{store.NotSent, store.Failed, store.Done} {
		b.settle(b.mustCharge(agent, 10, on), store.Released, o)
	}
	admission := b.mustCharge(agent, 10, on)
	b.settle(admission, store.Unresolved, store.Unknown)
	_, err := b.Resolve(b.Context(), service, admission.Execution.ID, store.Released)
	b.must(err)
	b.mustCharge(agent, 10, on)
	b.overCredit(agent, 1, on)
}

func unapprovedShare(b *suite) {
	on := store.Billing{Credit: usd(10), Unapproved: true}
	b.mustCharge("a", 4, on)
	second := b.mustCharge("b", 4, on)
	b.overCredit("c", 3, on)
	b.mustCharge("c", 2, on)
	b.overCredit("d", 1, on)
	b.mustCharge("approved", 10, store.Billing{Credit: usd(10)})
	b.topUp("d", usd(5)) // a prepaid charge is not a debt
	b.mustCharge("d", 5, on)
	b.overCredit("d", 1, on)
	b.settle(second, store.Released, store.Failed)
	b.mustCharge("e", 4, on)
	b.topUp("a", usd(3))
	b.mustCharge("f", 3, on)
	b.overCredit("g", 1, on)
	r := b.paid(1)
	r.Execution.Service, r.Billing = "another", on
	b.begin(r)
}

func newcomersOwe(b *suite) {
	on := store.Billing{Credit: usd(10), Newcomers: usd(4), Unapproved: true}
	b.mustCharge("a", 4, on)
	b.overCredit("a", 1, on)
	b.mustCharge("b", 4, on) // a left enough credit
	b.mustCharge("approved", 10, store.Billing{Credit: usd(10), Newcomers: usd(4)})
	b.overCredit("c", 3, on) // exceeds the shared credit
	b.mustCharge("c", 2, on)
	b.topUp("a", usd(5))
	b.mustCharge("a", 1, on)
	b.overCredit("d", 1, store.Billing{Credit: usd(10), Newcomers: usd(0), Unapproved: true})
	b.overCredit("e", 11, store.Billing{Credit: usd(10), Newcomers: usd(20), Unapproved: true})
}

func shareFades(b *suite) {
	on := store.Billing{Credit: usd(24), Newcomers: usd(12), Unapproved: true}
	first := b.mustCharge("a", 12, on)
	b.settle(b.mustCharge("b", 12, on), store.Captured, store.Done)
	b.overCredit("c", 1, on)
	b.clock.Advance(6 * time.Hour)
	b.overCredit("c", 7, on)
	b.mustCharge("c", 6, on)
	b.overCredit("d", 1, on)
	b.reopen()
	b.overCredit("d", 1, on)
	b.overCredit("a", 1, on) // the agent's own debt does not fade
	b.settle(first, store.Released, store.Failed)
	b.mustCharge("d", 12, on)
	b.overCredit("e", 1, on)
	b.clock.Advance(-time.Hour)
	b.overCredit("e", 1, on)
	b.clock.Advance(25 * time.Hour)
	b.mustCharge("e", 12, on)
	b.mustCharge("f", 12, on)
	b.overCredit("g", 1, on)
	b.clock.Advance(1000 * time.Hour) // at most the whole share fades
	b.mustCharge("g", 12, on)
	b.mustCharge("h", 12, on)
	b.overCredit("i", 1, on)
	b.topUp("b", usd(12)) // a payment makes room, whether the debt faded or not
	b.mustCharge("i", 12, on)
	b.overCredit("j", 1, on)
}

func shareUsers(b *suite) {
	pool := func(owed, counted int64, users ...store.PoolUser) {
		b.Helper()
		got, err := b.Pool(b.Context(), service, usd(24), 2)
		b.must(err)
		if d := cmp.Diff(store.Pool{Owed: usd(owed), Counted: usd(counted), Users: users}, got, cmpopts.EquateEmpty()); d != "" {
			b.Fatalf("differs (-want +got):\n%s", d)
		}
	}
	pool(0, 0)
	on := store.Billing{Credit: usd(24), Unapproved: true}
	b.mustCharge("a", 3, on)
	b.mustCharge("b", 5, on)
	paid := b.mustCharge("c", 4, on)
	b.mustCharge("approved", 20, store.Billing{Credit: usd(24)})
	user := func(id pat.AgentID, owed int64) store.PoolUser { return store.PoolUser{AgentID: id, Owed: usd(owed)} }
	pool(12, 12, user("b", 5), user("c", 4))
	b.clock.Advance(2 * time.Hour)
	pool(12, 10, user("b", 5), user("c", 4))
	b.settle(paid, store.Released, store.Failed)
	pool(8, 6, user("b", 5), user("a", 3))
	b.topUp("b", usd(5))
	pool(3, 1, user("a", 3))
}

func approvedLeave(b *suite) {
	on, approved := store.Billing{Credit: usd(10), Unapproved: true}, store.Billing{Credit: usd(10)}
	first := b.mustCharge("a", 6, on)
	b.overCredit("b", 5, on)
	b.mustCharge("a", 1, approved)
	b.mustCharge("b", 10, on)
	b.overCredit("a", 1, on) // unapproved again: its debt no longer fits
	b.settle(first, store.Captured, store.Done)
	b.overCredit("c", 1, on)
	b.mustCharge("a", 3, approved)
}

func setAgentLeaves(b *suite) {
	b.agree(b.agreement("nonce-1"))
	on := store.Billing{Credit: usd(10), Unapproved: true}
	admission := b.mustCharge(agent, 10, on)
	b.overCredit("b", 1, on)
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: agent, Status: pat.AgentActive, Approved: true}))
	b.mustCharge("b", 10, on)
	b.settle(admission, store.Released, store.Failed)
	b.overCredit("c", 1, on)
}

func invalidAmounts(b *suite) {
	for _, a := range []money.Amount{{Nano: -1, Currency: "USD"}, {Nano: 5}} {
		r := b.paid(1)
		r.Candidates[0].Charge = a
		if _, err := b.Begin(b.Context(), r); err == nil {
			b.Errorf("charged %+v", a)
		}
	}
	for _, a := range []money.Amount{usd(0), usd(-1), {Nano: 1}} {
		if _, err := b.TopUp(b.Context(), store.TopUp{Service: service, AgentID: agent, Amount: a}); err == nil {
			b.Errorf("topped up %+v", a)
		}
	}
	r := b.paid(1)
	r.Execution.ID = ""
	if _, err := b.Begin(b.Context(), r); err == nil {
		b.Error("a charge without an id")
	}
	r = b.paid(1)
	r.Billing.Credit = usd(-5)
	_, err := b.Begin(b.Context(), r)
	b.want(err, store.ErrCredit)
	r = b.free()
	r.Candidates[0].Charge = usd(0) // free, explicitly
	if got := b.begin(r); got.Recorded {
		b.Errorf("got %+v", got)
	}
}

func noOverflow(b *suite) {
	const most = math.MaxInt64
	on := store.Billing{Prepaid: true}
	b.topUp(agent, usd(most-10))
	_, err := b.TopUp(b.Context(), store.TopUp{Service: service, AgentID: agent, Amount: usd(11)})
	b.want(err, money.ErrAmount)
	b.mustCharge(agent, most-20, on)
	b.overCredit(agent, 11, store.Billing{Credit: usd(0)})
	b.overCredit(agent, 21, store.Billing{Credit: usd(most)})
	b.overCredit("agent-2", most, store.Billing{Credit: usd(most - 1)})
	b.overCredit(agent, most, store.Billing{Credit: usd(most)})
	b.mustCharge(agent, 20, store.Billing{Credit: usd(most)})
}

func limitBeforeCharge(b *suite) {
	for i := range 3 {
		r := b.paid(5, rate("l", 1, limit.Hour))
		if i == 0 {
			b.begin(r)
		} else {
			b.refused(r)
		}
	}
	b.clock.Advance(time.Minute)
	if a := b.account(); a.Held != usd(5) {
		b.Fatalf("got %+v", a)
	}
}
