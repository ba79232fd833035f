package sqlstore

import (
	"context"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/store"
)

// Background work is done in steps, so that a call never waits for more than one of them.
const (
	stepRows = 100  // as in the statements with LIMIT 100
	maxSteps = 1000 // of one kind in one Purge
)

// counterKept is how long a counter is kept after none of its slots counts any more, so that a clock which ran ahead
// for less than this and is set back finds what was counted.
const counterKept = 7 * 24 * time.Hour

// Sweep makes held records unresolved whose deadline has passed, and returns how many. It does so in steps of 100, each
// a transaction of its own.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	return s.steps(ctx, s.update, func(ctx context.Context, t *tx) (int, error) {
		var due []store.Execution
		err := t.rows(ctx, "SELECT "+executionColumns+
			" FROM executions WHERE state = 'held' AND deadline <= ? ORDER BY id LIMIT ? FOR UPDATE SKIP LOCKED",
			[]any{nanos(t.counted), stepRows}, func(scan scan) error {
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

// steps repeats a step, each in a transaction of its own, until one finds less than its maximum.
func (s *Store) steps(ctx context.Context, run transact, step func(context.Context, *tx) (int, error)) (int, error) {
	total := 0
	for range maxSteps {
		var n int
		err := run(ctx, func(ctx context.Context, t *tx) (err error) {
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

// An expiry deletes rows that have expired: those for which the condition holds, whose argument is now minus keep. The
// number of rows and their order are part of the statement: otherwise a planner would read the whole table.
type expiry struct {
	query string
	keep  time.Duration
}

// Purge deletes what is no longer needed, in steps of at most 100 rows, each a transaction of its own, and returns how
// many records were deleted:
//   - nonces, idempotency keys, revocations and counters that have expired, and tokens that are no longer needed;
//   - consents, registered clients, invitations and registrations of an Almanac whose time has passed;
//   - signing keys whose last PAT has expired;
//   - settled executions that charged nothing, once their idempotency key is deleted;
//   - agreements under which no call was made for Options.UnusedKept, their policies unless those are offered, and
//     agents that were never approved, blocked or charged once their last agreement is deleted, so that ids claimed
//     and never used become free;
//   - charges and top-ups that ended longer ago than the ledger is kept (see KeepLedger); their sums are carried
//     forward.
func (s *Store) Purge(ctx context.Context) (int, error) {
	total := 0
	for _, f := range s.expiries() { // and nonces: before what needs the journal written, which on a full disk needs the room they leave
		n, err := s.steps(ctx, s.aside, func(ctx context.Context, t *tx) (int, error) {
			n, err := t.exec(ctx, f.query, nanos(t.now.Add(-f.keep)))
			return int(n), err
		})
		total += n
		if err != nil {
			return total, err
		}
	}
	if err := s.keepWitnesses(ctx); err != nil {
		return total, err
	}
	for _, purge := range []func(context.Context) (int, error){
		s.purgeNonces, s.purgeCounters, s.purgeKeys, s.purgeExecutions, s.purgeCharges, s.purgeTopUps,
		s.purgeAgreements,
	} {
		n, err := purge(ctx)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (s *Store) expiries() []expiry {
	return []expiry{
		{"DELETE FROM answer_sizes WHERE (service, agent_id) IN (SELECT service, agent_id FROM answer_sizes WHERE bytes <= 0 " +
			"AND CAST(? AS BIGINT) > 0 ORDER BY service, agent_id LIMIT 100 FOR UPDATE SKIP LOCKED)", 0},
		{"DELETE FROM revocations WHERE (service, kind, subject) IN (SELECT service, kind, subject FROM revocations WHERE until <= ? " +
			"ORDER BY until LIMIT 100 FOR UPDATE SKIP LOCKED)", 0},
		{"DELETE FROM signing_keys WHERE id IN (SELECT id FROM signing_keys WHERE not_after > 0 AND not_after <= ? ORDER BY not_after " +
			"LIMIT 100 FOR UPDATE SKIP LOCKED)", 0},
		{"DELETE FROM tokens WHERE (service, id) IN (SELECT service, id FROM tokens WHERE expires_at <= ? ORDER BY expires_at " +
			"LIMIT 100 FOR UPDATE SKIP LOCKED)", s.opts.TokensKept},
		{"DELETE FROM consents WHERE (service, handle) IN (SELECT service, handle FROM consents WHERE until <= ? ORDER BY until " +
			"LIMIT 100 FOR UPDATE SKIP LOCKED)", 0},
		{"DELETE FROM clients WHERE (service, id) IN (SELECT service, id FROM clients WHERE until <= ? ORDER BY until " +
			"LIMIT 100 FOR UPDATE SKIP LOCKED)", 0},
		{"DELETE FROM almanac WHERE (service, address) IN (SELECT service, address FROM almanac WHERE until <= ? ORDER BY until " +
			"LIMIT 100 FOR UPDATE SKIP LOCKED)", 0},
		{"DELETE FROM almanac_protocols WHERE (service, protocol, address) IN (SELECT service, protocol, address FROM almanac_protocols " +
			"WHERE until <= ? ORDER BY until LIMIT 100 FOR UPDATE SKIP LOCKED)", 0},
		{"DELETE FROM invitations WHERE (service, code) IN (SELECT service, code FROM invitations WHERE until <= ? ORDER BY until " +
			"LIMIT 100 FOR UPDATE SKIP LOCKED)", 0},
	}
}

// purgeCounters deletes what is expired on the clock on which limits are counted.
func (s *Store) purgeCounters(ctx context.Context) (int, error) {
	return s.steps(ctx, s.update, func(ctx context.Context, t *tx) (int, error) {
		n, err := t.exec(ctx, `DELETE FROM counters WHERE (service, agent_id, limit_id, period) IN
			(SELECT service, agent_id, limit_id, period FROM counters WHERE frees_at > 0 AND frees_at <= ? ORDER BY frees_at `+
			`LIMIT 100 FOR UPDATE SKIP LOCKED)`, nanos(t.counted.Add(-counterKept)))
		return int(n), err
	})
}

// found repeats a step on rows that a reader finds, so that the search delays no writer. forget reports whether the row
// was deleted: it may have changed since it was read. The query has the time as argument, and an order, which is that
// of an index.
func (s *Store) found(ctx context.Context, most, columns int, query string, at time.Time,
	forget func(context.Context, *tx, []string) (bool, error),
) (int, error) {
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

// purgeKeys deletes idempotency keys, and the answers kept for them. The key of an execution that is not settled stays.
func (s *Store) purgeKeys(ctx context.Context) (int, error) {
	return s.found(ctx, stepRows, 1, `SELECT i.execution_id FROM idempotency i JOIN executions e ON e.id = i.execution_id
		WHERE i.until <= ? AND e.state IN ('captured', 'released') ORDER BY i.until`, s.Counted(),
		func(ctx context.Context, t *tx, row []string) (bool, error) { return true, t.forgetKey(ctx, row[0]) })
}

// purgeExecutions deletes settled executions that charged nothing, unless their key is kept.
func (s *Store) purgeExecutions(ctx context.Context) (int, error) {
	return s.steps(ctx, s.update, func(ctx context.Context, t *tx) (int, error) {
		n, err := t.exec(ctx, `DELETE FROM executions WHERE id IN (SELECT e.id FROM executions e WHERE e.forget_at > 0 AND e.forget_at <= ?
		AND e.state IN ('captured', 'released') AND NOT EXISTS (SELECT 1 FROM idempotency i
			WHERE i.service = e.service AND i.agent_id = e.agent_id AND i.idem_key = e.idem_key AND i.execution_id = e.id) ORDER BY e.forget_at `+
			`LIMIT 100)`,
			nanos(t.counted))
		return int(n), err
	})
}

// purgeAgreements deletes agreements under which no call was ever made, once their tokens are deleted. A static agreement
// that was revoked stays, because it can be sent again.
func (s *Store) purgeAgreements(ctx context.Context) (int, error) {
	return s.found(ctx, stepRows, 4,
		`SELECT a.service, a.id, a.agent_id, a.policy_digest FROM agreements a WHERE a.used_at = 0 AND a.created_at <= ? AND NOT (a.assurance = 'static' AND a.state = 'revoked')
		AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.service = a.service AND t.agreement_id = a.id) ORDER BY `+
			`a.created_at`, s.now().Add(-unusedKept), purgeAgreement)
}

// purgeAgreement deletes an agreement, unless it was used since it was found, and its policy if nothing else names it.
// A policy that was offered stays: agents may still sign it.
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

// purgeAgent deletes an agent without any remaining record, so that its id is free.
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
