package sqlstore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/store"
)

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
	for _, query := range []string{"DELETE FROM ledger WHERE execution_id = ?", "DELETE FROM executions WHERE id = ?"} {
		if _, err := t.exec(ctx, query, id); err != nil {
			return false, err
		}
	}
	var captured int64
	if e.State == store.Captured {
		captured = e.Charge.Nano
	}
	return true, t.carry(ctx, account{accountKey: accountKey{service, string(e.AgentID), e.Charge.Currency}, captured: captured}, e.SettledAt)
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
