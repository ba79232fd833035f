package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/uimgate/uimgate/money"
	"github.com/uimgate/uimgate/store"
)

// An account is what one agent paid in and used in one currency, in billionths of its unit.
type account struct {
	service, agentID, currency string

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

// charge finds whether an agent can be charged; the function it returns does it. ErrCredit if not.
func (t *tx) charge(ctx context.Context, service, agentID string, amount money.Amount, b store.Billing) (func(context.Context) error, error) {
	before, err := t.account(ctx, service, agentID, amount.Currency)
	if err != nil {
		return nil, err
	}
	after, ok := before.hold(amount, b)
	if !ok {
		return nil, store.ErrCredit
	}
	if more := after.inPool() - before.inPool(); more > 0 {
		owed, err := t.pool(ctx, service, amount.Currency)
		if err != nil {
			return nil, err
		}
		if owed+more > credit(amount.Currency, b) {
			return nil, store.ErrCredit
		}
	}
	return func(ctx context.Context) error { return t.setAccount(ctx, before, after) }, nil
}

// account reads an account; one that is not there is empty.
func (t *tx) account(ctx context.Context, service, agentID, currency string) (account, error) {
	const q = "SELECT topped_up, held, captured, pooled FROM accounts WHERE service = ? AND agent_id = ? AND currency = ? FOR UPDATE"
	a := account{service: service, agentID: agentID, currency: currency}
	args := []any{service, agentID, currency}
	found, err := t.row(ctx, q, args, &a.toppedUp, &a.held, &a.captured, &a.pooled)
	if err == nil && !found && t.w.s.dialect.concurrent {
		if _, err = t.exec(ctx, "INSERT INTO accounts (service, agent_id, currency) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", args...); err == nil {
			_, err = t.row(ctx, q, args, &a.toppedUp, &a.held, &a.captured, &a.pooled)
		}
	}
	return a, err
}

// pool reads what the unapproved agents of a service owe together.
func (t *tx) pool(ctx context.Context, service, currency string) (owed int64, err error) {
	const q = "SELECT owed FROM pools WHERE service = ? AND currency = ? FOR UPDATE"
	found, err := t.row(ctx, q, []any{service, currency}, &owed)
	if err == nil && !found && t.w.s.dialect.concurrent {
		if _, err = t.exec(ctx, "INSERT INTO pools (service, currency, owed) VALUES (?, ?, 0) ON CONFLICT DO NOTHING", service, currency); err == nil {
			_, err = t.row(ctx, q, []any{service, currency}, &owed)
		}
	}
	return owed, err
}

var errBalance = errors.New("the account would fall below zero")

// setAccount writes an account and keeps its pool right.
func (t *tx) setAccount(ctx context.Context, before, after account) error {
	if after.held < 0 || after.captured < 0 || after.toppedUp < 0 {
		return unavailable(fmt.Errorf("account of %s in %s: %w", after.agentID, after.currency, errBalance))
	}
	_, err := t.exec(ctx, `INSERT INTO accounts (service, agent_id, currency, topped_up, held, captured, pooled) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, agent_id, currency) DO UPDATE
		SET topped_up = excluded.topped_up, held = excluded.held, captured = excluded.captured, pooled = excluded.pooled`,
		after.service, after.agentID, after.currency, after.toppedUp, after.held, after.captured, flag(after.pooled))
	if more := after.inPool() - before.inPool(); err == nil && more != 0 {
		_, err = t.exec(ctx, `INSERT INTO pools (service, currency, owed) VALUES (?, ?, ?)
			ON CONFLICT (service, currency) DO UPDATE SET owed = pools.owed + excluded.owed`, after.service, after.currency, more)
	}
	return err
}

// leavePool takes the accounts of an agent that was approved out of the pool.
func (t *tx) leavePool(ctx context.Context, service, agentID string) error {
	var currencies []string
	err := t.rows(ctx, "SELECT currency FROM accounts WHERE service = ? AND agent_id = ? AND pooled = 1 ORDER BY currency",
		[]any{service, agentID}, func(scan scan) error {
			currencies = append(currencies, "")
			return scan(&currencies[len(currencies)-1])
		})
	for _, c := range currencies {
		if err != nil {
			return err
		}
		var before account
		if before, err = t.account(ctx, service, agentID, c); err != nil {
			return err
		}
		after := before
		after.pooled = false
		err = t.setAccount(ctx, before, after)
	}
	return err
}
