package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func testBudgets(t *testing.T, open Opener) {
	t.Helper()
	balancedEach(t, open, map[string]func(*suite){
		"a budget bounds what is spent":              budgetBounds,
		"released charges come back to a budget":     budgetReleases,
		"a budget for one call, by many at once":     budgetAtOnce,
		"a resolved call comes back to a budget":     budgetResolved,
		"a budget is a limit like any other":         budgetAmongLimits,
		"a budget of a month starts each month":      budgetOfMonth,
		"a charge counts rounded up to millionths":   budgetRoundsUp,
		"a changed budget refuses earlier decisions": budgetDecided,
		"a budget is changed while calls begin":      budgetChangedAmongCalls,
	})
}

// spender is the agent of the consent.
const spender pat.AgentID = "mcp.0123456789abcdef"

// cents returns an amount in USD.
func cents(n int64) money.Amount { return usd(n * money.Unit / 100) }

// within returns a charged call under the consent with a budget.
func (b *suite) within(charge money.Amount, budget money.Amount, p limit.Period) store.BeginRequest {
	r := b.free(store.Reservation{
		Principal: pat.Principal(spender), Limit: limit.OfBudget(limit.Allowance{Amount: budget, Period: p}), Units: limit.AllowanceUnits(charge),
	})
	r.Execution.AgentID, r.Candidates[0].Charge = spender, charge
	r.Billing.Prepaid = true
	return r
}

func (b *suite) paidIn(amount money.Amount) {
	b.Helper()
	_, err := b.TopUp(b.Context(), store.TopUp{Service: service, AgentID: spender, Amount: amount})
	b.must(err)
}

func budgetBounds(b *suite) {
	b.paidIn(cents(10_000))
	first := b.begin(b.within(cents(30), cents(100), limit.Day))
	b.settle(first, store.Captured, store.Done)
	b.begin(b.within(cents(50), cents(100), limit.Day)) // a held charge counts
	refused := b.refused(b.within(cents(30), cents(100), limit.Day))
	if refused.Kind != limit.Budget || limit.AllowanceLeft(refused.Left, "USD") != cents(20) || refused.RetryAfter <= 0 ||
		refused.RetryAfter > 25*time.Hour {
		b.Errorf("got %+v", refused)
	}
	b.begin(b.within(cents(20), cents(100), limit.Day))
	if left := b.refused(b.within(cents(1), cents(100), limit.Day)).Left; left != 0 {
		b.Errorf("%d is left", left)
	}
	b.clock.Advance(25 * time.Hour)
	b.begin(b.within(cents(100), cents(100), limit.Day))
}

func budgetReleases(b *suite) {
	b.paidIn(cents(10_000))
	for _, outcome := range []store.Outcome{store.NotSent, store.Failed, store.Done} {
		call := b.begin(b.within(cents(100), cents(100), limit.Day))
		b.refused(b.within(cents(1), cents(100), limit.Day))
		b.settle(call, store.Released, outcome)
	}
	unknown := b.begin(b.within(cents(100), cents(100), limit.Day))
	b.settle(unknown, store.Unresolved, store.Unknown)
	b.refused(b.within(cents(1), cents(100), limit.Day)) // the call may have been carried out
	b.reopen()
	b.refused(b.within(cents(1), cents(100), limit.Day))
}

// budgetAtOnce makes 100 calls at once through two processes on a budget for one call.
func budgetAtOnce(b *suite) {
	b.paidIn(cents(100_000))
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	var requests [100]store.BeginRequest
	for i := range requests {
		requests[i] = b.within(cents(60), cents(100), limit.Month)
	}
	var admitted atomic.Int64
	var all sync.WaitGroup
	for i, r := range requests {
		engine := []Engine{b.Engine, other}[i%2]
		all.Go(func() {
			_, err := engine.Begin(b.Context(), r)
			var full *store.LimitError
			switch {
			case err == nil:
				admitted.Add(1)
			case !errors.As(err, &full) || full.Kind != limit.Budget:
				b.Error(err)
			}
		})
	}
	all.Wait()
	if admitted.Load() != 1 {
		b.Errorf("%d calls were admitted; want 1", admitted.Load())
	}
}

func budgetResolved(b *suite) {
	b.paidIn(cents(10_000))
	for _, p := range limit.AllowancePeriods() {
		call := b.begin(b.within(cents(100), cents(100), p))
		b.settle(call, store.Unresolved, store.Unknown)
		b.clock.Advance(time.Hour)
		b.refused(b.within(cents(1), cents(100), p))
		_, err := b.Resolve(b.Context(), service, call.Execution.ID, store.Released)
		b.must(err)
		again := b.begin(b.within(cents(100), cents(100), p))
		b.settle(again, store.Unresolved, store.Unknown)
		_, err = b.Resolve(b.Context(), service, again.Execution.ID, store.Captured)
		b.must(err)
		b.refused(b.within(cents(1), cents(100), p))
	}
}

// budgetAmongLimits checks that a call that another limit or the credit refuses takes nothing from the budget.
func budgetAmongLimits(b *suite) {
	b.paidIn(cents(60))
	r := b.within(cents(60), cents(100), limit.Day)
	r.Limits = []store.Reservation{{Principal: pat.Principal(spender), Limit: limit.Limit{ID: "none", Rate: limit.Rate{Max: 0, Period: limit.Hour}}}}
	if refused := b.refused(r); refused.ID != "none" {
		b.Errorf("got %+v", refused)
	}
	if _, err := b.Begin(b.Context(), b.within(cents(61), cents(100), limit.Day)); !errors.Is(err, store.ErrCredit) {
		b.Errorf("got %v", err)
	}
	b.begin(b.within(cents(60), cents(100), limit.Day))
	if left := b.refused(b.within(cents(50), cents(100), limit.Day)).Left; limit.AllowanceLeft(left, "USD") != cents(40) {
		b.Errorf("%d is left", left)
	}
}

func budgetOfMonth(b *suite) {
	b.paidIn(cents(10_000))
	b.begin(b.within(cents(100), cents(100), limit.Month)) // on 14 March
	b.clock.Advance(16 * 24 * time.Hour)
	b.refused(b.within(cents(1), cents(100), limit.Month))
	b.clock.Advance(2 * 24 * time.Hour)
	b.begin(b.within(cents(100), cents(100), limit.Month))
}

func budgetRoundsUp(b *suite) {
	b.paidIn(cents(100))
	b.begin(b.within(usd(1), usd(2000), limit.Day)) // a billionth of a unit counts as a millionth
	b.begin(b.within(usd(1000), usd(2000), limit.Day))
	b.refused(b.within(usd(1), usd(2000), limit.Day))
}

// consented returns a call as within does, whose charge was decided by a numbered budget of a new consent.
func (b *suite) consented(nonce string) (id pat.AgreementID, call func(number int) store.BeginRequest) {
	b.Helper()
	agreed, policy := b.agreement(nonce)
	b.agree(agreed, policy)
	return agreed.ID, func(number int) store.BeginRequest {
		r := b.within(cents(1), cents(10_000), limit.Month)
		r.Execution.AgreementID, r.BudgetNumber = agreed.ID, &number
		return r
	}
}

func budgetDecided(b *suite) {
	b.paidIn(cents(100))
	id, call := b.consented("decided")
	b.begin(call(0))
	_, err := b.Begin(b.Context(), call(1))
	b.want(err, store.ErrBudgetChanged)
	b.must(b.SetBudget(b.Context(), service, id, 1, signedBudget("record")))
	_, err = b.Begin(b.Context(), call(0))
	b.want(err, store.ErrBudgetChanged)
	keyed := call(1)
	keyed.Execution.IdempotencyKey, keyed.KeyFor = "key", time.Hour
	b.settle(b.begin(keyed), store.Captured, store.Done)
	b.reopen()
	b.must(b.SetBudget(b.Context(), service, id, 2, signedBudget("record")))
	if again := b.begin(keyed); again.Replay == nil { // it began under the budget of its time
		b.Errorf("got %+v, want a replay", again)
	}
	_, err = b.Begin(b.Context(), call(1))
	b.want(err, store.ErrBudgetChanged)
	b.must(b.Revoke(b.Context(), pat.Revocation{
		Service: service, Kind: pat.RevokedAgreement, Subject: string(id), At: start, Until: start.Add(time.Hour),
	}))
	_, err = b.Begin(b.Context(), call(2))
	b.want(err, pat.ErrRevoked)
	accounts, err := b.Accounts(b.Context(), store.Filter{Service: service, AgentID: spender})
	b.must(err)
	if accounts[0].Held != cents(1) || accounts[0].Captured != cents(1) {
		b.Errorf("got %+v", accounts[0])
	}
}

// budgetChangedAmongCalls changes a budget while a hundred calls begin through three processes. No call begins by an earlier budget once
// its change is stored.
func budgetChangedAmongCalls(b *suite) {
	b.paidIn(cents(10_000))
	second, third := b.open(b.T, b.place, b.clock.Now), b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(errors.Join(second.Close(), third.Close())) }()
	id, call := b.consented("among")
	var newest atomic.Int64 // the number of the last change that is stored
	concurrently(b, 300, []Engine{b, second, third}, func(e Engine, i int) error {
		if i%30 == 0 {
			n := int(newest.Load()) + 1
			err := e.SetBudget(b.Context(), service, id, n, signedBudget("record"))
			if err == nil {
				newest.Store(int64(n))
			}
			return err
		}
		stored := newest.Load()
		before := call(max(0, int(stored)-1))
		_, err := e.Begin(b.Context(), before)
		if err == nil && stored > 0 {
			b.Errorf("a call began by the budget %d after %d was stored", stored-1, stored)
		}
		return err
	}, anyOf(store.ErrBudgetChanged, store.ErrUsed))
	if newest.Load() == 0 {
		b.Error("no budget was changed")
	}
}
