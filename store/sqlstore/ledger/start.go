package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const (
	selectUnchained = `SELECT service, agent_id, currency, topped_up, held, captured FROM accounts WHERE lines = 0
		ORDER BY service, agent_id, currency LIMIT ? FOR UPDATE`
	selectUnresolved = `SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM executions WHERE service = ? AND agent_id = ? AND currency = ?
		AND state = 'unresolved'`
	selectIssuer = "SELECT epoch, issuer FROM epochs WHERE service = ? ORDER BY epoch DESC LIMIT 1"
	insertCarry  = `INSERT INTO ledger (seq, at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, to_state, actor,
		kind, epoch, k, prev, leaf, salt, details) VALUES ({ledger}, ?, ?, ?, '', '', '', 0, ?, '', '', ?, 'carry', ?, ?, ?, ?, ?, ?)`
	updateChain = "UPDATE accounts SET lines = ?, head = ?, carried_by = ?, kept = ? WHERE service = ? AND agent_id = ? AND currency = ?"
)

// StartChains starts the chains of up to limit accounts without one, in a transaction of a database that is being opened. It returns how
// many chains it started.
func StartChains(ctx context.Context, t *sql.Tx, rewrite func(string) string, now time.Time, limit int) (int, error) {
	rows, err := t.QueryContext(ctx, rewrite(selectUnchained), limit)
	if err != nil {
		return 0, err
	}
	var accounts []Account
	if err := engine.Drain(rows, func(scan engine.Scan) error {
		var a Account
		err := scan(&a.Service, &a.AgentID, &a.Currency, &a.ToppedUp, &a.Held, &a.Captured)
		accounts = append(accounts, a)
		return err
	}); err != nil {
		return 0, err
	}
	for _, a := range accounts {
		epoch := Epoch{Issuer: a.Service}
		if err := t.QueryRowContext(ctx, rewrite(selectIssuer), a.Service).Scan(&epoch.Number, &epoch.Issuer); err != nil &&
			!errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
		sums := position{toppedUp: a.ToppedUp, held: a.Held, captured: a.Captured}
		if err := t.QueryRowContext(ctx, rewrite(selectUnresolved), a.Service, a.AgentID, a.Currency).Scan(&sums.unresolved); err != nil {
			return 0, err
		}
		e := carryEntry(Place{Epoch: epoch.Number}, epoch.Issuer, a.AccountKey, now, nil, sums, newSalt())
		if _, err := t.ExecContext(ctx, rewrite(engine.BumpLedger), 1); err != nil {
			return 0, err
		}
		for _, c := range writeCarry(a.AccountKey, e) {
			if _, err := t.ExecContext(ctx, rewrite(c.Query), c.Args...); err != nil {
				return 0, err
			}
		}
	}
	return len(accounts), nil
}

// carryEntry returns the entry that carries the sums of an account up to and including the entry through.
func carryEntry(c Place, issuer string, k AccountKey, at time.Time, through *evidence.Through, sums position, salt []byte) evidence.Entry {
	amount := func(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: k.Currency} }
	return evidence.Entry{
		Issuer: issuer, Epoch: c.Epoch, Account: evidence.Account{Agent: k.AgentID, Currency: k.Currency}, K: c.K, Prev: c.Prev,
		At: engine.FromNanos(engine.Nanos(at)), Kind: evidence.KindCarry, By: ByOperator, Salt: salt, Through: through,
		Sums: &evidence.Sums{
			ToppedUp: amount(sums.toppedUp), Held: amount(sums.held), Unresolved: amount(sums.unresolved), Captured: amount(sums.captured),
		},
	}
}

// kept returns the number of the first entry that is left after a carry has replaced all entries before it.
func kept(carry evidence.Entry) int64 {
	if carry.Through == nil {
		return carry.K
	}
	return carry.Through.K + 1
}

// writeCarry returns the statements that write a carry as the last entry of its account. The caller must have allocated the ledger number.
func writeCarry(k AccountKey, e evidence.Entry) []engine.Command {
	leaf := evidence.LeafHash(e.Append(nil))
	return []engine.Command{
		{Query: insertCarry, Args: []any{
			engine.Nanos(e.At), k.Service, k.AgentID, k.Currency, e.By, e.Epoch, e.K, blob(e.Prev), blob(leaf),
			engine.Blob(e.Salt), string(e.Append(nil)),
		}},
		{Query: updateChain, Args: []any{e.K + 1, blob(leaf), e.K, kept(e), k.Service, k.AgentID, k.Currency}},
	}
}
