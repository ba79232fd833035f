package sqlstore

import (
	"context"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/store"
)

// Background work goes in steps, so that a call never waits for more than one of them.
const (
	stepRows = 100  // as statements have it that end in LIMIT 100
	maxSteps = 1000 // of one kind in one Purge
)

// counterKept is how long a counter is kept after none of its slots counts any more, so that a clock that ran
// ahead for less than this and is set back finds what was counted.
const counterKept = 7 * 24 * time.Hour

// Sweep makes held records unresolved whose deadline has come, and returns how many. It goes in steps of 100, each a transaction of
// its own.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	return s.steps(ctx, func(ctx context.Context, t *tx) (int, error) {
		var due []store.Execution
		err := t.rows(ctx, "SELECT "+executionColumns+" FROM executions WHERE state = 'held' AND deadline <= ? ORDER BY deadline LIMIT ? FOR UPDATE SKIP LOCKED",
			[]any{nanos(t.now), stepRows}, func(scan scan) error {
				e, err := scanExecution(scan)
				due = append(due, e)
				return err
			})
		if err != nil {
			return 0, err
		}
		for _, e := range due {
			if _, err := t.move(ctx, e, store.Unresolved, store.Unknown, bySweeper); err != nil {
				return 0, err
			}
		}
		return len(due), nil
	})
}

// steps repeats a step, each in a transaction of its own, until one finds less than it could have done.
func (s *Store) steps(ctx context.Context, step func(context.Context, *tx) (int, error)) (int, error) {
	total := 0
	for range maxSteps {
		var n int
		err := s.update(ctx, func(ctx context.Context, t *tx) (err error) {
			n, err = step(ctx, t)
			return err
		})
		if err != nil {
			return total, err
		}
		total += n
		if n < stepRows {
			break
		}
	}
	return total, nil
}

// A forgetting deletes rows whose time is over: those for which the condition holds, the argument being
// now less what is kept. How many rows it takes, and in which order, stands in the statement itself: a planner that does
// not know would rather read the whole table.
type forgetting struct {
	query string
	keep  time.Duration
}

// Purge removes what no longer matters, in steps of at most 100 rows, each a transaction of its own, and returns how many rows went:
//   - nonces, idempotency keys, revocations and counters whose time is over, and tokens that are not needed any more;
//   - signing keys whose last PAT has expired;
//   - settled executions that charged nothing, once their idempotency key is forgotten;
//   - agreements under which no call was made for Options.UnusedKept, their policies unless those are offered, and agents that were
//     never approved, blocked or charged once their last agreement is gone, so that ids claimed and never used come free;
//   - charges and top-ups that ended longer ago than the ledger is kept (see KeepLedger); their sums are carried forward.
func (s *Store) Purge(ctx context.Context) (int, error) {
	total := 0
	for _, f := range s.forgettings() {
		n, err := s.steps(ctx, func(ctx context.Context, t *tx) (int, error) {
			n, err := t.exec(ctx, f.query, nanos(t.now.Add(-f.keep)))
			return int(n), err
		})
		total += n
		if err != nil {
			return total, err
		}
	}
	for _, purge := range []func(context.Context) (int, error){s.purgeKeys, s.purgeExecutions, s.purgeCharges, s.purgeTopUps, s.purgeAgreements} {
		n, err := purge(ctx)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (s *Store) forgettings() []forgetting {
	return []forgetting{
		{"DELETE FROM nonces WHERE (service, key_id, id) IN (SELECT service, key_id, id FROM nonces WHERE until <= ? ORDER BY until LIMIT 100 FOR UPDATE SKIP LOCKED)", 0},
		{"DELETE FROM revocations WHERE (service, kind, subject) IN (SELECT service, kind, subject FROM revocations WHERE until <= ? ORDER BY until LIMIT 100 FOR UPDATE SKIP LOCKED)", 0},
		{"DELETE FROM signing_keys WHERE id IN (SELECT id FROM signing_keys WHERE not_after > 0 AND not_after <= ? ORDER BY not_after LIMIT 100 FOR UPDATE SKIP LOCKED)", 0},
		{`DELETE FROM counters WHERE (service, agent_id, limit_id, period) IN
			(SELECT service, agent_id, limit_id, period FROM counters WHERE frees_at > 0 AND frees_at <= ? ORDER BY frees_at LIMIT 100 FOR UPDATE SKIP LOCKED)`, counterKept},
		{"DELETE FROM tokens WHERE (service, id) IN (SELECT service, id FROM tokens WHERE expires_at <= ? ORDER BY expires_at LIMIT 100 FOR UPDATE SKIP LOCKED)", s.opts.TokensKept},
	}
}

// found repeats a step on rows that a reader finds, so that looking for them keeps no writer waiting. forget
// reports whether the row went: it may have changed since it was read. The query takes the time, and says in which
// order rows are wanted, which is that of an index.
func (s *Store) found(ctx context.Context, most, columns int, query string, at time.Time, forget func(context.Context, *tx, []string) (bool, error)) (int, error) {
	total := 0
	query += " LIMIT " + strconv.Itoa(most)
	for range maxSteps {
		var rows [][]string
		err := s.list(ctx, query, []any{nanos(at)}, func(scan scan) error {
			row := make([]string, columns)
			dest := make([]any, columns)
			for i := range row {
				dest[i] = &row[i]
			}
			rows = append(rows, row)
			return scan(dest...)
		})
		if err != nil {
			return total, err
		}
		n := 0
		err = s.update(ctx, func(ctx context.Context, t *tx) error {
			n = 0
			for _, row := range rows {
				gone, err := forget(ctx, t, row)
				if err != nil {
					return err
				}
				n += int(flag(gone))
			}
			return nil
		})
		if err != nil {
			return total, err
		}
		total += n
		if n < most {
			break
		}
	}
	return total, nil
}

// purgeKeys forgets idempotency keys, and the answers kept for them. The key of an execution that is
// not settled stays.
func (s *Store) purgeKeys(ctx context.Context) (int, error) {
	return s.found(ctx, stepRows, 1, `SELECT i.execution_id FROM idempotency i JOIN executions e ON e.id = i.execution_id
		WHERE i.until <= ? AND e.state IN ('captured', 'released') ORDER BY i.until`, s.now(),
		func(ctx context.Context, t *tx, row []string) (bool, error) { return true, t.forgetKey(ctx, row[0]) })
}

// purgeExecutions forgets settled executions that charged nothing, unless their key is still known.
func (s *Store) purgeExecutions(ctx context.Context) (int, error) {
	return s.steps(ctx, func(ctx context.Context, t *tx) (int, error) {
		n, err := t.exec(ctx, `DELETE FROM executions WHERE id IN (SELECT e.id FROM executions e WHERE e.forget_at > 0 AND e.forget_at <= ?
		AND e.state IN ('captured', 'released') AND NOT EXISTS (SELECT 1 FROM idempotency i
			WHERE i.service = e.service AND i.agent_id = e.agent_id AND i.idem_key = e.idem_key AND i.execution_id = e.id) ORDER BY e.forget_at LIMIT 100)`,
			nanos(t.now))
		return int(n), err
	})
}

// purgeAgreements forgets agreements under which nothing was ever called, once their tokens are gone.
func (s *Store) purgeAgreements(ctx context.Context) (int, error) {
	return s.found(ctx, stepRows, 4, `SELECT a.service, a.id, a.agent_id, a.policy_digest FROM agreements a WHERE a.used_at = 0 AND a.created_at <= ?
		AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.service = a.service AND t.agreement_id = a.id) ORDER BY a.created_at`, s.now().Add(-unusedKept), purgeAgreement)
}

// purgeAgreement forgets one, unless it came to use since it was found, and its policy if nothing else names it. A policy
// that was offered stays: signatures over it may still come.
func purgeAgreement(ctx context.Context, t *tx, row []string) (bool, error) {
	service, id, agent, digest := row[0], row[1], row[2], row[3]
	n, err := t.exec(ctx, `DELETE FROM agreements WHERE service = ? AND id = ? AND used_at = 0
		AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.service = agreements.service AND t.agreement_id = agreements.id)`, service, id)
	if err != nil || n == 0 {
		return false, err
	}
	if _, err := t.exec(ctx, `DELETE FROM policies WHERE service = ? AND digest = ? AND offered_at = 0 AND NOT EXISTS
		(SELECT 1 FROM agreements a WHERE a.service = policies.service AND a.policy_digest = policies.digest)`, service, digest); err != nil {
		return false, err
	}
	return true, t.purgeAgent(ctx, service, agent)
}

// purgeAgent frees an id of which nothing is left.
func (t *tx) purgeAgent(ctx context.Context, service, id string) error {
	var one int
	idle, err := t.row(ctx, `SELECT 1 FROM agents a WHERE a.service = ? AND a.id = ? AND a.status = 'active' AND a.approved = 0 AND a.seq = 0
		AND NOT EXISTS (SELECT 1 FROM agreements g WHERE g.service = a.service AND g.agent_id = a.id)
		AND NOT EXISTS (SELECT 1 FROM accounts c WHERE c.service = a.service AND c.agent_id = a.id) FOR UPDATE`, []any{service, id}, &one)
	if err != nil || !idle {
		return err
	}
	if _, err := t.exec(ctx, "DELETE FROM agent_keys WHERE service = ? AND agent_id = ?", service, id); err != nil {
		return err
	}
	_, err = t.exec(ctx, "DELETE FROM agents WHERE service = ? AND id = ?", service, id)
	return err
}
