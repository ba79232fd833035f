package upkeep

import (
	"context"
	"fmt"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Each row that one of these queries returns is an account or a pool that is not the sum of its parts.
const (
	selectUnbalanced = `SELECT service, agent_id, currency FROM (
		SELECT service, agent_id, currency, topped_up, held, captured FROM accounts
		UNION ALL SELECT service, agent_id, currency, -topped_up, -held, -captured FROM carried
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

// CheckBalance checks that each account is the sum of its ledger entries and carried amounts, that held amounts are those of executions,
// and that each pool is the sum of its accounts. If not, the error wraps store.ErrUnbalanced and names an account. It also rebuilds the
// chain of each account and the tree of each log, and verifies the signatures of the logs. It compares the entries with the records of
// calls, the texts to which entries refer, refunds, moves of credit and invoices. If a row was altered, added or deleted, the error wraps
// store.ErrAltered. CheckBalance reads a snapshot of the whole ledger; calls do not wait for it.
func (u *Upkeep) CheckBalance(ctx context.Context) error {
	_, err := u.CheckSince(ctx, nil)
	return err
}

// CheckSince is like CheckBalance, but continues from the point up to which an earlier check verified the ledger; nil means that there was
// none. CheckSince rebuilds only the entries after the point, and reads only their texts and records. It checks all logs, all sums, and
// that no entry is missing. It returns the point up to which the ledger is now verified. If the ledger is older than the point, the error
// also wraps ErrBeforePoint, and ErrRestored if a restore explains it.
func (u *Upkeep) CheckSince(ctx context.Context, since *VerifiedPoint) (now VerifiedPoint, err error) {
	if err := u.db.CatchUp(ctx); err != nil {
		return now, err
	}
	err = u.db.Snapshot(ctx, func(reader *engine.Reader) error {
		logs := readLogHeads(ctx, reader)
		now = pointOf(ctx, reader, logs)
		issuers := readIssuers(ctx, reader)
		if since != nil {
			if err := since.precedes(now, issuers); err != nil {
				return err
			}
		}
		for _, check := range []struct{ query, what string }{
			{selectUnbalanced, "the account is not the sum of its ledger entries"},
			{selectHeldWrong, "the held amount is not the sum of the charges that its calls hold"},
			{selectPoolWrong, "the common debt of the unapproved agents is not the sum of their debts"},
		} {
			var service, agentID, currency string
			if reader.Find(ctx, check.query, nil, &service, &agentID, &currency) {
				return fmt.Errorf("service %q, agent %q, %s: %s: %w", service, agentID, currency, check.what, store.ErrUnbalanced)
			}
		}
		if u.journal != nil {
			if _, err := u.journal.Check(ctx, reader); err != nil {
				return err
			}
		}
		if since == nil {
			return checkWhole(ctx, reader, logs, issuers)
		}
		return checkNew(ctx, reader, logs, issuers, since)
	})
	if err != nil {
		return VerifiedPoint{}, err
	}
	return now, nil
}

func checkWhole(ctx context.Context, reader *engine.Reader, logs []loggedHead, issuers epochIssuers) error {
	implied, err := checkChains(ctx, reader, issuers)
	if err != nil {
		return err
	}
	if err := checkLogs(ctx, reader, logs, issuers, nil); err != nil {
		return err
	}
	asked, err := checkTexts(ctx, reader, 0)
	if err != nil {
		return err
	}
	if err := implied.check(ctx, reader, asked); err != nil {
		return err
	}
	return checkDocuments(ctx, reader, implied)
}

func checkNew(ctx context.Context, reader *engine.Reader, logs []loggedHead, issuers epochIssuers, since *VerifiedPoint) error {
	implied, err := checkNewEntries(ctx, reader, issuers, since.Seq)
	if err != nil {
		return err
	}
	if err := checkLogs(ctx, reader, logs, issuers, since); err != nil {
		return err
	}
	asked, err := checkTexts(ctx, reader, since.Seq)
	if err != nil {
		return err
	}
	return implied.checkAsked(asked)
}
