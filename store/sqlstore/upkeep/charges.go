package upkeep

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// chargeRows is the maximum number of rows in a step of the deletions below, because each row needs several statements.
const chargeRows = 10

// purgeCharges deletes charges that a release without chains recorded, if they ended before the retention period of the ledger. It deletes
// each charge with its execution and all its ledger entries, and adds its amount to the carried table. The charge of an unresolved call has
// not ended.
func (u *Upkeep) purgeCharges(ctx context.Context) (int, error) {
	before := u.db.Now().Add(-u.ledgerKept())
	return u.found(ctx, chargeRows, 2, `SELECT service, id FROM executions WHERE amount > 0 AND settled_at > 0 AND settled_at <= ?
		ORDER BY settled_at`, before, func(ctx context.Context, t *engine.Tx, row []string) (bool, error) {
		return u.removeCharge(ctx, t, row[0], row[1], before)
	})
}

func (u *Upkeep) removeCharge(ctx context.Context, t *engine.Tx, service, id string, before time.Time) (bool, error) {
	e, err := u.calls.Find(ctx, t, service, id)
	if err != nil || e.State != store.Captured && e.State != store.Released || e.SettledAt.After(before) {
		return false, ignoreNotFound(err)
	}
	if t.Find(ctx, "SELECT 1 FROM ledger WHERE service = ? AND agent_id = ? AND at IN (?, ?) AND execution_id = ? AND k >= 0 LIMIT 1",
		[]any{service, string(e.AgentID), engine.Nanos(e.BeganAt), engine.Nanos(e.SettledAt), id}) {
		return false, nil // purgeChains deletes the entries of chains, from the beginning of each
	}
	if err := u.calls.ForgetKey(ctx, t, id); err != nil {
		return false, err
	}
	removeEntries(ctx, t, e)
	t.Run(ctx, "DELETE FROM executions WHERE id = ?", id)
	var captured int64
	if e.State == store.Captured {
		captured = e.Charge.Nano
	}
	carry(ctx, t, ledger.Account{
		AccountKey: ledger.AccountKey{Service: service, AgentID: string(e.AgentID), Currency: e.Charge.Currency}, Captured: captured,
	}, e.SettledAt)
	return true, nil
}

// removeEntries deletes the ledger entries of an execution. Their times are those in the record of the execution. A record of an earlier
// version may lack the time at which the execution became unresolved.
func removeEntries(ctx context.Context, t *engine.Tx, e store.Execution) {
	query, at := "at IN (?, ?, ?)", []any{engine.Nanos(e.BeganAt), engine.Nanos(e.SettledAt), engine.Nanos(e.UnresolvedAt)}
	if e.UnresolvedAt.IsZero() {
		started, settled := engine.Nanos(e.BeganAt), engine.Nanos(e.SettledAt)
		query, at = "at >= ? AND at <= ?", []any{min(started, settled), max(started, settled)}
	}
	t.Run(ctx, "DELETE FROM ledger WHERE service = ? AND agent_id = ? AND execution_id = ? AND "+query,
		append([]any{e.Service, string(e.AgentID), e.ID}, at...)...)
}

// purgeTopUps deletes top-ups that a release without chains recorded, if they are older than the retention period of the ledger, and adds
// their amounts to the carried table.
func (u *Upkeep) purgeTopUps(ctx context.Context) (int, error) {
	return u.found(ctx, chargeRows, 1, "SELECT seq FROM ledger WHERE to_state = '' AND k < 0 AND at <= ? ORDER BY at",
		u.db.Now().Add(-u.ledgerKept()), removeTopUp)
}

func removeTopUp(ctx context.Context, t *engine.Tx, row []string) (bool, error) {
	number, err := strconv.ParseInt(row[0], 10, 64)
	if err != nil {
		return false, engine.Unavailable(err)
	}
	var a ledger.Account
	var at int64
	if !t.Find(ctx, "SELECT service, agent_id, currency, amount, at FROM ledger WHERE seq = ? FOR UPDATE", []any{number},
		&a.Service, &a.AgentID, &a.Currency, &a.ToppedUp, &at) {
		return false, nil
	}
	t.Run(ctx, "DELETE FROM ledger WHERE seq = ?", number)
	carry(ctx, t, a, engine.FromNanos(at))
	return true, nil
}

// carry adds amounts to the sums of deleted ledger entries.
func carry(ctx context.Context, t *engine.Tx, a ledger.Account, until time.Time) {
	t.Run(ctx, `INSERT INTO carried (service, agent_id, currency, topped_up, captured, held, until)
		VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, agent_id, currency) DO UPDATE SET topped_up = carried.topped_up + excluded.topped_up,
		captured = carried.captured + excluded.captured, held = carried.held + excluded.held, until = CASE WHEN excluded.until > carried.until THEN excluded.until ELSE `+
		`carried.until END`,
		a.Service, a.AgentID, a.Currency, a.ToppedUp, a.Captured, a.Held, engine.Nanos(until))
}

func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// pruneRows is the maximum number of entries that a transaction deletes from a chain.
const pruneRows = 100

// purgeChains deletes old entries from the beginning of each account's chain, and the executions that have no entries left. In each chain,
// it stops at the first entry whose charge or top-up has not ended, or ended too recently. All entries after an unresolved call are
// therefore kept.
func (u *Upkeep) purgeChains(ctx context.Context) (int, error) {
	before := u.db.Now().Add(-u.ledgerKept())
	for _, old := range []string{selectOldCharge, selectOldTopUp} {
		found, err := u.db.One(ctx, old, []any{engine.Nanos(before)}, new(int64))
		if err != nil {
			return 0, err
		}
		if found {
			return u.pruneAccounts(ctx, before)
		}
	}
	return 0, nil
}

// Queries that find a charge or a top-up that may be deleted from a chain. If they find none, the accounts need not be searched.
const (
	selectOldCharge = "SELECT 1 FROM executions WHERE amount > 0 AND settled_at > 0 AND settled_at <= ? LIMIT 1"
	selectOldTopUp  = "SELECT 1 FROM ledger WHERE to_state = '' AND kind = '' AND at <= ? LIMIT 1"
)

func (u *Upkeep) pruneAccounts(ctx context.Context, before time.Time) (total int, err error) {
	var last ledger.AccountKey
	for {
		accounts, err := u.ledger.Prunable(ctx, last, before)
		if err != nil || len(accounts) == 0 {
			return total, err
		}
		for _, k := range accounts {
			n, err := engine.Steps(pruneRows, func() (n int, err error) {
				err = u.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error {
					n, err = u.prune(ctx, t, k, before)
					return err
				})
				return n, err
			})
			if total += n; err != nil {
				return total, err
			}
		}
		last = accounts[len(accounts)-1]
	}
}

// prune deletes entries of one account, and returns their number.
func (u *Upkeep) prune(ctx context.Context, t *engine.Tx, k ledger.AccountKey, before time.Time) (int, error) {
	p, err := u.ledger.Prune(ctx, t, k, before, pruneRows)
	if err != nil || p.Entries == 0 {
		return 0, err
	}
	for _, id := range p.Ended {
		if err := u.calls.ForgetKey(ctx, t, id); err != nil {
			return 0, err
		}
		t.Run(ctx, "DELETE FROM executions WHERE id = ?", id)
	}
	carry(ctx, t, p.Account, p.Until)
	return p.Entries, nil
}
