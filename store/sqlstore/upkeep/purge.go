package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// counterKept is how long a counter is kept after its last slot has stopped counting. If a clock was ahead by less than this and is then
// set back, the counts are still there.
const counterKept = 7 * 24 * time.Hour

// unusedKept is how long an agreement without any call is kept.
const unusedKept = 30 * 24 * time.Hour

// minDocumentsKept is the minimum time for which refunds, moves of credit and invoices are kept, because they are accounting documents.
const minDocumentsKept = 10 * 365 * 24 * time.Hour

// documentsKept returns how long refunds, moves of credit and invoices are kept. Refunds must outlive their executions, because the charges
// could otherwise be refunded again.
func (u *Upkeep) documentsKept() time.Duration { return max(minDocumentsKept, u.ledgerKept()) }

// stopKept is how long the record of a stop is kept after the stop has ended, so that every process reads that it has ended.
const stopKept = 30 * 24 * time.Hour

// Purge deletes records that are no longer needed, in steps of at most 100 rows, each in a separate transaction, and returns how many
// records were deleted:
//   - nonces, idempotency keys, revocations and counters that have expired, and tokens that are no longer needed;
//   - consents, confirmations, registered clients, invitations, registrations of an Almanac, uses of intents, payments, requests of
//     the index, and sessions and links of the console that have expired;
//   - signing keys whose last PAT has expired, and stops that ended 30 days ago;
//   - refunds, moves of credit and invoices that are older than documentsKept;
//   - processes that sent no report for an hour, the times at which processes read stops, and figures of calls that are no longer shown;
//   - settled executions that charged nothing, after their idempotency key is deleted;
//   - agreements without a call in the first 30 days, with their policies unless those were offered;
//   - agents that were never approved, blocked or charged, once their last agreement is deleted, so that unused ids become free;
//   - charges and top-ups that ended before the retention period of the ledger (see KeepLedger), from the beginning of each account's chain
//     up to the first that is more recent.
//
// The sums of deleted charges and top-ups are kept.
func (u *Upkeep) Purge(ctx context.Context) (int, error) {
	// The first deletions do not need the journal to be written. On a full disk, they free the space to write it.
	total, err := u.purgeExpired(ctx)
	if err != nil {
		return total, err
	}
	if err := u.db.KeepWitnesses(ctx); err != nil {
		return total, err
	}
	for _, purge := range []func(context.Context) (int, error){
		func(ctx context.Context) (int, error) { return steps(ctx, u.db.Aside, u.calls.PurgeNonces) },
		u.purgeDocuments, u.purgeCounters, u.purgeKeys, u.purgeExecutions, u.purgeChains, u.purgeCharges, u.purgeTopUps,
		u.purgeAgreements,
	} {
		n, err := purge(ctx)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// expiries are the tables whose rows expire, with the indexed column of the time.
var expiries = []struct{ table, key, until string }{
	{"revocations", "service, kind, subject", "until"},
	{"signing_keys", "id", "not_after"},
	{"tokens", "service, id", "expires_at"},
	{"consents", "service, handle", "until"},
	{"clients", "service, id", "until"},
	{"almanac", "service, address", "until"},
	{"almanac_protocols", "service, protocol, address", "until"},
	{"invitations", "service, code", "until"},
	{"console_sessions", "id", "until"},
	{"console_links", "code", "until"},
	{"intent_uses", "service, intent", "until"},
	{"payments", "service, reference", "until"},
	{"confirmations", "service, id", "kept_until"},
	{"requests", "id, at, process, number", "until"},
	{"credit_moves", "service, reference", "at"},
	{"stops", "service, kind, subject", "ended_at"},
	{"processes", "id", "reported_at"},
	{"stop_reads", "process, seq", "at"},
}

// expired returns the statement that deletes up to 100 rows that meet a condition, whose argument is a time. The number of rows and their
// order are part of the statement; otherwise a query planner would read the whole table.
func expired(table, key, condition, order string) string {
	return "DELETE FROM " + table + " WHERE (" + key + ") IN (SELECT " + key + " FROM " + table + " WHERE " + condition +
		" ORDER BY " + order + " LIMIT 100 FOR UPDATE SKIP LOCKED)"
}

// purgeExpired deletes the rows that have expired.
func (u *Upkeep) purgeExpired(ctx context.Context) (total int, err error) {
	purge := func(query string, keep time.Duration) {
		if err != nil {
			return
		}
		var n int
		n, err = steps(ctx, u.db.Aside, func(ctx context.Context, t *engine.Tx) (int, error) {
			return int(t.Run(ctx, query, engine.Nanos(t.Now().Add(-keep)))), nil
		})
		total += n
	}
	purge(expired("answer_sizes", "service, agent_id", "bytes <= 0 AND CAST(? AS BIGINT) > 0", "service, agent_id"), 0)
	for _, e := range expiries {
		condition, keep := e.until+" <= ?", time.Duration(0)
		switch e.table {
		case "signing_keys": // 0: the key is in use
			condition = "not_after > 0 AND " + condition
		case "tokens":
			keep = u.tokensKept
		case "credit_moves":
			keep = u.documentsKept()
		case "stops": // 0: the stop is in force
			condition, keep = "ended_at > 0 AND "+condition, stopKept
		case "processes":
			keep = store.ProcessesKept
		case "stop_reads":
			keep = store.StopReadsKept
		}
		purge(expired(e.table, e.key, condition, e.until), keep)
	}
	for length, keep := range map[time.Duration]time.Duration{time.Minute: store.MinuteFiguresKept, time.Hour: store.HourFiguresKept} {
		purge(expired("call_figures", "period, at, process", fmt.Sprintf("period = %d AND at <= ?", length), "period, at"), keep)
	}
	return total, err
}

// purgeDocuments deletes the refunds and the invoices that need not be kept any longer, and records that their numbers were deleted.
func (u *Upkeep) purgeDocuments(ctx context.Context) (total int, err error) {
	for _, d := range numbered {
		query := "SELECT service, number FROM " + d.table + " WHERE at <= ? ORDER BY at"
		n, err := u.found(ctx, engine.StepRows, 2, query, u.db.Now().Add(-u.documentsKept()), d.purge)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// purgeCounters deletes counters that have expired by the clock for limits.
func (u *Upkeep) purgeCounters(ctx context.Context) (int, error) {
	return steps(ctx, u.db.Update, func(ctx context.Context, t *engine.Tx) (int, error) {
		query := expired("counters", "service, agent_id, limit_id, period", "frees_at > 0 AND frees_at <= ?", "frees_at")
		return int(t.Run(ctx, query, engine.Nanos(t.Counted().Add(-counterKept)))), nil
	})
}

// purgeKeys deletes expired idempotency keys, and the answers stored for them. The key of an execution that is not settled stays.
func (u *Upkeep) purgeKeys(ctx context.Context) (int, error) {
	return u.found(ctx, engine.StepRows, 1, `SELECT i.execution_id FROM idempotency i JOIN executions e ON e.id = i.execution_id
		WHERE i.until <= ? AND e.state IN ('captured', 'released') ORDER BY i.until`, u.db.Counted(),
		func(ctx context.Context, t *engine.Tx, row []string) (bool, error) {
			return true, u.calls.ForgetKey(ctx, t, row[0])
		})
}

// purgeExecutions deletes settled executions that charged nothing, unless their key is kept.
func (u *Upkeep) purgeExecutions(ctx context.Context) (int, error) {
	return steps(ctx, u.db.Update, func(ctx context.Context, t *engine.Tx) (int, error) {
		return int(t.Run(ctx, `DELETE FROM executions WHERE id IN (SELECT e.id FROM executions e WHERE e.forget_at > 0 AND e.forget_at <= ?
		AND e.state IN ('captured', 'released') AND NOT EXISTS (SELECT 1 FROM idempotency i
			WHERE i.service = e.service AND i.agent_id = e.agent_id AND i.idem_key = e.idem_key AND i.execution_id = e.id) ORDER BY e.forget_at `+
			`LIMIT 100)`,
			engine.Nanos(t.Counted()))), nil
	})
}

// purgeAgreements deletes agreements that never had a call, after their tokens are deleted. A revoked static or implied agreement
// stays, because agents can make it again.
func (u *Upkeep) purgeAgreements(ctx context.Context) (int, error) {
	return u.found(ctx, engine.StepRows, 4,
		`SELECT a.service, a.id, a.agent_id, a.policy_digest FROM agreements a WHERE a.used_at = 0 AND a.created_at <= ?
		AND NOT (a.assurance IN ('static', 'implied') AND a.state = 'revoked')
		AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.service = a.service AND t.agreement_id = a.id) ORDER BY `+
			`a.created_at`, u.db.Now().Add(-unusedKept), purgeAgreement)
}

// purgeAgreement deletes an agreement, unless the agreement was used since it was found. It also deletes the policy of the agreement if no
// other agreement refers to that policy. A policy that was offered stays, because agents may still sign it.
func purgeAgreement(ctx context.Context, t *engine.Tx, row []string) (bool, error) {
	service, id, agent, digest := row[0], row[1], row[2], row[3]
	if t.Run(ctx, `DELETE FROM agreements WHERE service = ? AND id = ? AND used_at = 0
		AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.service = agreements.service AND t.agreement_id = agreements.id)`, service, id) == 0 {
		return false, nil
	}
	t.Run(ctx, "DELETE FROM budgets WHERE service = ? AND agreement_id = ?", service, id)
	t.Run(ctx, `DELETE FROM policies WHERE service = ? AND digest = ? AND offered_at = 0 AND NOT EXISTS
		(SELECT 1 FROM agreements a WHERE a.service = policies.service AND a.policy_digest = policies.digest)`, service, digest)
	purgeAgent(ctx, t, service, agent)
	return true, nil
}

// purgeAgent deletes an agent without agreements and accounts that was never approved or blocked, so that its id becomes free.
func purgeAgent(ctx context.Context, t *engine.Tx, service, id string) {
	if t.Find(ctx, `SELECT 1 FROM agents a WHERE a.service = ? AND a.id = ? AND a.status = 'active' AND a.approved = 0 AND a.seq = 0
		AND NOT EXISTS (SELECT 1 FROM agreements g WHERE g.service = a.service AND g.agent_id = a.id)
		AND NOT EXISTS (SELECT 1 FROM accounts c WHERE c.service = a.service AND c.agent_id = a.id) FOR UPDATE`, []any{service, id}) {
		t.Run(ctx, "DELETE FROM agent_keys WHERE service = ? AND agent_id = ?", service, id)
		t.Run(ctx, "DELETE FROM agents WHERE service = ? AND id = ?", service, id)
	}
}
