package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// Ledger returns entries, the newest first: those of one agent of one service by their times, others in the order of commits.
func (s *Store) Ledger(ctx context.Context, f store.Filter) ([]store.Entry, error) {
	var q conditions
	q.equal("service", f.Service)
	q.equal("agent_id", string(f.AgentID))
	q.equal("to_state", string(f.State))
	last := "ORDER BY seq DESC"
	ofAgent := f.Service != "" && f.AgentID != ""
	if ofAgent {
		last = "ORDER BY at DESC, seq DESC" // as in the index
	}
	if f.After != "" {
		seq, err := strconv.ParseInt(f.After, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("listing the ledger: %q is no entry number", f.After)
		}
		if ofAgent { // the entry itself may have been deleted
			var at int64
			found, err := s.one(ctx, "SELECT at FROM ledger WHERE seq <= ? ORDER BY seq DESC LIMIT 1", []any{seq}, &at)
			if err != nil || !found {
				return nil, err
			}
			q.add("(at, seq) < (?, ?)", at, seq)
		} else {
			q.add("seq < ?", seq)
		}
	}
	var out []store.Entry
	const columns = "seq, at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, to_state, actor, reference"
	err := s.list(ctx, q.query("SELECT "+columns+" FROM ledger", last, f.Limit), q.args, func(scan scan) error {
		var e store.Entry
		var at int64
		err := scan(&e.Seq, &at, &e.Service, &e.AgentID, &e.ExecutionID, &e.Intent, &e.Rule, &e.Amount.Nano, &e.Amount.Currency, &e.From, &e.To,
			&e.By, &e.Reference)
		e.At = fromNanos(at)
		out = append(out, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
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

// retainRows bounds one step of the deletions below: each row is several statements.
const retainRows = 10

// KeepLedger sets how long charges and top-ups are kept after they ended, from the next Purge on; their sums stay.
// Without a call Purge keeps them all.
func (s *Store) KeepLedger(d time.Duration) { s.kept.Store(int64(d)) }

func (s *Store) ledgerKept() time.Duration { return time.Duration(s.kept.Load()) }

// purgeCharges deletes charges that ended longer ago than the ledger is kept, each with its execution and all its
// entries, and carries their sums forward. A call with an unknown outcome has not ended.
func (s *Store) purgeCharges(ctx context.Context) (int, error) {
	before := s.now().Add(-s.ledgerKept())
	return s.found(ctx, retainRows, 2, `SELECT service, id FROM executions WHERE amount > 0 AND settled_at > 0 AND settled_at <= ?
		ORDER BY settled_at`, before, func(ctx context.Context, t *tx, row []string) (bool, error) {
		return t.removeCharge(ctx, row[0], row[1], before)
	})
}

func (t *tx) removeCharge(ctx context.Context, service, id string, before time.Time) (bool, error) {
	e, err := t.execution(ctx, service, id)
	if err != nil || e.State != store.Captured && e.State != store.Released || e.SettledAt.After(before) {
		return false, ignoreNotFound(err)
	}
	if err := t.forgetKey(ctx, id); err != nil {
		return false, err
	}
	if err := t.removeEntries(ctx, e); err != nil {
		return false, err
	}
	if _, err := t.exec(ctx, "DELETE FROM executions WHERE id = ?", id); err != nil {
		return false, err
	}
	var captured int64
	if e.State == store.Captured {
		captured = e.Charge.Nano
	}
	return true, t.carry(ctx, account{accountKey: accountKey{service, string(e.AgentID), e.Charge.Currency}, captured: captured}, e.SettledAt)
}

// removeEntries deletes the entries of an execution, which were made at the times in its record. One of an earlier version may have
// been unresolved at a time that its record does not tell.
func (t *tx) removeEntries(ctx context.Context, e store.Execution) error {
	query, at := "at IN (?, ?, ?)", []any{nanos(e.BegunAt), nanos(e.SettledAt), nanos(e.UnresolvedAt)}
	if e.UnresolvedAt.IsZero() {
		begun, settled := nanos(e.BegunAt), nanos(e.SettledAt)
		query, at = "at >= ? AND at <= ?", []any{min(begun, settled), max(begun, settled)}
	}
	_, err := t.exec(ctx, "DELETE FROM ledger WHERE service = ? AND agent_id = ? AND execution_id = ? AND "+query,
		append([]any{e.Service, string(e.AgentID), e.ID}, at...)...)
	return err
}

// purgeTopUps does the same with top-ups; they change no account any more.
func (s *Store) purgeTopUps(ctx context.Context) (int, error) {
	return s.found(ctx, retainRows, 1, "SELECT seq FROM ledger WHERE to_state = '' AND at <= ? ORDER BY at",
		s.now().Add(-s.ledgerKept()), func(ctx context.Context, t *tx, row []string) (bool, error) { return t.removeTopUp(ctx, row[0]) })
}

func (t *tx) removeTopUp(ctx context.Context, seq string) (bool, error) {
	number, err := strconv.ParseInt(seq, 10, 64)
	if err != nil {
		return false, unavailable(err)
	}
	var a account
	var at int64
	found, err := t.row(ctx, "SELECT service, agent_id, currency, amount, at FROM ledger WHERE seq = ? FOR UPDATE", []any{number},
		&a.service, &a.agentID, &a.currency, &a.toppedUp, &at)
	if err != nil || !found {
		return false, err
	}
	if _, err := t.exec(ctx, "DELETE FROM ledger WHERE seq = ?", number); err != nil {
		return false, err
	}
	return true, t.carry(ctx, a, fromNanos(at))
}

// carry adds to the sums over what the ledger no longer contains.
func (t *tx) carry(ctx context.Context, a account, until time.Time) error {
	_, err := t.exec(ctx, `INSERT INTO carried (service, agent_id, currency, topped_up, captured, until) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, agent_id, currency) DO UPDATE SET topped_up = carried.topped_up + excluded.topped_up,
		captured = carried.captured + excluded.captured, until = CASE WHEN excluded.until > carried.until THEN excluded.until ELSE `+
		`carried.until END`,
		a.service, a.agentID, a.currency, a.toppedUp, a.captured, nanos(until))
	return err
}

func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
