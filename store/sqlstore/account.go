package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// An account is what one agent paid in and used in one currency, in billionths of its unit.
type account struct {
	accountKey

	toppedUp, held, captured int64 // held: held and unresolved
	// pooled: what the account owes counts towards the pool of its service and currency.
	pooled bool
}

// owes is what was used beyond what was paid in.
func (a account) owes() int64 { return max(0, a.held+a.captured-a.toppedUp) }

// inPool is what the account adds to its pool.
func (a account) inPool() int64 {
	if !a.pooled {
		return 0
	}
	return a.owes()
}

// hold adds a charge, if that leaves the agent within what it has or may owe.
func (a account) hold(charge money.Amount, b store.Billing) (account, bool) {
	used := a.held + a.captured
	if charge.Nano > math.MaxInt64-used {
		return a, false
	}
	if over := used + charge.Nano - a.toppedUp; over > credit(charge.Currency, b) {
		return a, false
	}
	a.held += charge.Nano
	a.pooled = b.Unapproved
	return a, true
}

// credit is how much may be owed in a currency.
func credit(currency string, b store.Billing) int64 {
	if b.Prepaid || b.Credit.Currency != currency {
		return 0
	}
	return max(0, b.Credit.Nano)
}

// charge finds how an agent's account would stand with a charge: ErrCredit if it cannot be charged.
func (t *tx) charge(ctx context.Context, service, agentID string, amount money.Amount, b store.Billing) (before, after account, err error) {
	before, err = t.account(ctx, service, agentID, amount.Currency)
	if err != nil {
		return before, after, err
	}
	after, ok := before.hold(amount, b)
	if !ok {
		return before, after, store.ErrCredit
	}
	if more := after.inPool() - before.inPool(); more > 0 {
		owed, err := t.pool(ctx, poolKey{service, amount.Currency})
		if err != nil {
			return before, after, err
		}
		if owed+more > credit(amount.Currency, b) {
			return before, after, store.ErrCredit
		}
	}
	return before, after, nil
}

// account is how an account stands; one that is not there is empty.
func (t *tx) account(ctx context.Context, service, agentID, currency string) (account, error) {
	k := accountKey{service, agentID, currency}
	if t.accounts[k] == nil {
		if err := t.w.send(ctx, []command{t.readAccount(k)}); err != nil {
			return account{}, t.failed(err)
		}
	}
	return t.accounts[k].now, nil
}

// pool is what the unapproved agents of a service owe together.
func (t *tx) pool(ctx context.Context, k poolKey) (owed int64, err error) {
	if t.pools[k] == nil {
		if err := t.w.send(ctx, []command{t.readPool(k)}); err != nil {
			return 0, t.failed(err)
		}
	}
	return *t.pools[k] + t.owed[k], nil
}

var errBalance = errors.New("the account would fall below zero")

// setAccount changes an account and keeps its pool right.
func (t *tx) setAccount(before, after account) error {
	if after.held < 0 || after.captured < 0 || after.toppedUp < 0 {
		return unavailable(fmt.Errorf("account of %s in %s: %w", after.agentID, after.currency, errBalance))
	}
	a := t.accounts[after.accountKey]
	a.now, a.dirty = after, true
	if more := after.inPool() - before.inPool(); more != 0 {
		k := poolKey{after.service, after.currency}
		set(&t.owed, k, t.owed[k]+more)
	}
	return nil
}

// leavePool takes the accounts of an agent that was approved out of the pool.
func (t *tx) leavePool(ctx context.Context, service string, id pat.AgentID) error {
	var currencies []string
	err := t.rows(ctx, "SELECT currency FROM accounts WHERE service = ? AND agent_id = ? AND pooled = 1 ORDER BY currency",
		[]any{service, id}, func(scan scan) error {
			currencies = append(currencies, "")
			return scan(&currencies[len(currencies)-1])
		})
	for _, c := range currencies {
		if err != nil {
			return err
		}
		var before account
		if before, err = t.account(ctx, service, string(id), c); err != nil {
			return err
		}
		after := before
		after.pooled = false
		err = t.setAccount(before, after)
	}
	return err
}
