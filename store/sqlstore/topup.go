package sqlstore

import (
	"context"
	"fmt"
	"math"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

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
