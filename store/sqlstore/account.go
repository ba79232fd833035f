package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// An account holds what one agent paid in and used in one currency, in billionths of its unit.
type account struct {
	accountKey

	toppedUp, held, captured int64 // held: held and unresolved
	// pooled means that what the account owes counts towards the pool of its service and currency.
	pooled bool
}

// owes returns what was used beyond what was paid in.
func (a account) owes() int64 { return max(0, a.held+a.captured-a.toppedUp) }

// inPool returns what the account adds to its pool.
func (a account) inPool() int64 {
	if !a.pooled {
		return 0
	}
	return a.owes()
}

// hold adds a charge, if the agent then still owes no more than it may.
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

// credit returns how much may be owed in a currency.
func credit(currency string, b store.Billing) int64 {
	if b.Prepaid || b.Credit.Currency != currency {
		return 0
	}
	return max(0, b.Credit.Nano)
}

// charge returns an agent's account before and after a charge: ErrCredit if it cannot be charged.
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
		set(&t.poolMost, poolKey{service, amount.Currency}, credit(amount.Currency, b))
	}
	return before, after, nil
}

// read returns a statement that reads a row, as it is sent.
func (t *tx) read(c command) []command {
	if t.unlocked {
		return unlocked([]command{c})
	}
	return []command{c}
}

// account returns an account; a missing one is empty.
func (t *tx) account(ctx context.Context, service, agentID, currency string) (account, error) {
	k := accountKey{service, agentID, currency}
	if t.accounts[k] == nil {
		if err := t.w.send(ctx, t.read(t.readAccount(k))); err != nil {
			return account{}, t.failed(err)
		}
	}
	return t.accounts[k].now, nil
}

// pool returns what the unapproved agents of a service owe together.
func (t *tx) pool(ctx context.Context, k poolKey) (owed int64, err error) {
	if t.pools[k] == nil {
		if err := t.w.send(ctx, t.read(t.readPool(k))); err != nil {
			return 0, t.failed(err)
		}
	}
	return *t.pools[k] + t.owed[k], nil
}

var errBalance = errors.New("the account would fall below zero")

// setAccount changes an account, and its pool accordingly.
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

// leavePool removes the accounts of an agent that was approved from the pool.
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

// The accounts minus all of their parts; any remainder is wrong.
const (
	selectUnbalanced = `SELECT service, agent_id, currency FROM (
		SELECT service, agent_id, currency, topped_up, held, captured FROM accounts
		UNION ALL SELECT service, agent_id, currency, -topped_up, 0, -captured FROM carried
		UNION ALL SELECT service, agent_id, currency, CASE WHEN from_state = '' AND to_state = '' THEN -amount ELSE 0 END,
			CASE WHEN from_state IN ('held', 'unresolved') THEN amount ELSE 0 END - ` +
		`CASE WHEN to_state IN ('held', 'unresolved') THEN amount ELSE 0 END,
			CASE WHEN from_state = 'captured' THEN amount ELSE 0 END - CASE WHEN to_state = 'captured' THEN amount ELSE 0 END
		FROM ledger) AS every
		GROUP BY service, agent_id, currency HAVING SUM(topped_up) <> 0 OR SUM(held) <> 0 OR SUM(captured) <> 0 LIMIT 1`
	selectHeldWrong = `SELECT service, agent_id, currency FROM (
		SELECT service, agent_id, currency, held FROM accounts
		UNION ALL SELECT service, agent_id, currency, -amount FROM executions WHERE amount > 0 AND state IN ('held', 'unresolved')) AS every
		GROUP BY service, agent_id, currency HAVING SUM(held) <> 0 LIMIT 1`
	selectPoolWrong = `SELECT service, '', currency FROM (
		SELECT service, currency, owed FROM pools
		UNION ALL SELECT service, currency, CASE WHEN held + captured > topped_up THEN topped_up - held - captured ELSE 0 END FROM accounts ` +
		`WHERE pooled = 1) AS every
		GROUP BY service, currency HAVING SUM(owed) <> 0 LIMIT 1`
)

// CheckBalance checks that the accounts are the sums over the ledger and what was carried forward, and that what is
// held is what executions hold. The error wraps store.ErrUnbalanced and names an account. It reads the whole ledger, as
// it is at one moment, for as long as that takes; calls go on meanwhile.
func (s *Store) CheckBalance(ctx context.Context) error {
	reader, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return unavailable(err)
	}
	defer func() { _ = reader.Rollback() }()
	for _, q := range s.dialect.unhurried {
		if _, err := reader.ExecContext(ctx, q); err != nil {
			return unavailable(err)
		}
	}
	for _, check := range []struct{ query, what string }{
		{selectUnbalanced, "the account is not the sum over its ledger"},
		{selectHeldWrong, "what is held is not what its calls hold"},
		{selectPoolWrong, "what unapproved agents owe together is not the sum over them"},
	} {
		var service, agentID, currency string
		switch err := reader.QueryRowContext(ctx, check.query).Scan(&service, &agentID, &currency); {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return unavailable(err)
		default:
			return fmt.Errorf("service %q, agent %q, %s: %s: %w", service, agentID, currency, check.what, store.ErrUnbalanced)
		}
	}
	return nil
}

// TopUp adds to an agent's balance, or reverses an amount, though no more than was paid in. repeated means that the
// same top-up was made under this reference before, and that nothing was done now. Errors: money.ErrAmount where the
// sum would leave its bounds, store.ErrReferenceUsed.
func (s *Store) TopUp(ctx context.Context, u store.TopUp) (repeated bool, err error) {
	if u.Amount.Nano <= 0 || u.Amount.Currency == "" {
		return false, fmt.Errorf("topping up %s by %s: %w", u.AgentID, u.Amount, money.ErrAmount)
	}
	entered := u.Amount
	if u.Reverse {
		entered.Nano = -entered.Nano
	}
	err = s.update(ctx, func(ctx context.Context, t *tx) (err error) {
		// the lock comes first: two top-ups with one reference wait here
		before, err := t.account(ctx, u.Service, string(u.AgentID), u.Amount.Currency)
		if err != nil {
			return err
		}
		if repeated, err = t.referenced(ctx, u, entered); err != nil || repeated {
			return err
		}
		after := before
		switch {
		case u.Reverse && entered.Nano < -before.toppedUp:
			return fmt.Errorf("taking back from %s: more than was topped up: %w", u.AgentID, money.ErrAmount)
		case entered.Nano > math.MaxInt64-before.toppedUp:
			return fmt.Errorf("topping up %s: the balance would be too large: %w", u.AgentID, money.ErrAmount)
		}
		after.toppedUp += entered.Nano
		if err := t.setAccount(before, after); err != nil {
			return err
		}
		return t.enterTopUp(ctx, u, entered)
	})
	return repeated && err == nil, err
}

// referenced reports whether the ledger contains this top-up already; store.ErrReferenceUsed if it contains another
// with the reference.
func (t *tx) referenced(ctx context.Context, u store.TopUp, entered money.Amount) (bool, error) {
	if u.Reference == "" {
		return false, nil
	}
	var agent pat.AgentID
	var was money.Amount
	found, err := t.row(ctx, "SELECT agent_id, amount, currency FROM ledger WHERE service = ? AND reference = ? AND reference <> ''",
		[]any{u.Service, u.Reference}, &agent, &was.Nano, &was.Currency)
	switch {
	case err != nil || !found:
		return false, err
	case agent != u.AgentID || was != entered:
		return false, store.ErrReferenceUsed
	}
	return true, nil
}

func (t *tx) enterTopUp(ctx context.Context, u store.TopUp, entered money.Amount) error {
	n, err := t.exec(ctx, `INSERT INTO ledger (seq, at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, `+
		`to_state, actor, reference)
		VALUES ({ledger}, ?, ?, ?, '', '', '', ?, ?, '', '', ?, ?) ON CONFLICT (service, reference) WHERE reference <> '' DO NOTHING`,
		nanos(t.now), u.Service, u.AgentID, entered.Nano, entered.Currency, byOperator, u.Reference)
	if err == nil && n == 0 { // a concurrent top-up of another agent used the reference
		return store.ErrReferenceUsed
	}
	return err
}
