package calls

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// becomes returns the new value of a counter's row.
func (c *counter) becomes(k CounterKey) *Counter {
	return &Counter{
		CounterKey: k, Slot: c.Slot, Counts: c.Encode(), Dispatch: c.dispatch, DispatchSlot: c.dispatchSlot,
	}
}

// becomes returns the changes of the transaction.
func (w *work) becomes(ctx context.Context) (*Changes, error) {
	c := &Changes{At: w.t.Now(), Beginnings: w.changes.beginnings, Changed: w.changes.moves, Lines: w.book.Lines()}
	for k, n := range w.limits.counters {
		if n.dirty {
			c.Counters = append(c.Counters, *n.becomes(k))
		}
	}
	for k := range w.agreements.used {
		c.Used = append(c.Used, Use{k.service, k.id, c.At})
	}
	var err error
	c.Accounts, c.Pools, err = w.book.Changed(ctx)
	return c, err
}

// The SQL of Begin, Settle and Lease. The SQL for charges is in ledger/book.go and ledger/pools.go, that for nonces in nonces.go, and that
// for answers in answers.go.
const (
	executionFields = `id, service, agent_id, idem_key, fingerprint, intent, agreement_id, token_id, policy_digest,
	rule, amount, currency, state, outcome, begun_at, deadline, settled_at, context_id, unresolved_at`
	executionColumns = executionFields + ", key_id, proof, decision"
	selectExecution  = "SELECT " + executionColumns + " FROM executions WHERE id = ? AND service = ? FOR UPDATE"
	insertExecution  = "INSERT INTO executions (" + executionFields + ", forget_at, key_id, proof, decision) " +
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	// insertUnchained is insertExecution for the tables of a release without evidence.
	insertUnchained = "INSERT INTO executions (" + executionFields + ", forget_at) " +
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

	selectKey = `SELECT i.until, a.output, a.reason, a.code, a.message, a.details, e.id, e.service, e.agent_id, e.idem_key, ` +
		`e.fingerprint, e.intent,
		e.agreement_id, e.token_id, e.policy_digest, e.rule, e.amount, e.currency, e.state, e.outcome, e.begun_at, e.deadline, e.settled_at,
		e.context_id, e.unresolved_at, e.key_id, e.proof, e.decision
		FROM idempotency i JOIN executions e ON e.id = i.execution_id LEFT JOIN answers a ON a.execution_id = e.id
		WHERE i.service = ? AND i.agent_id = ? AND i.idem_key = ?`
	insertKey = "INSERT INTO idempotency (service, agent_id, idem_key, execution_id, until) VALUES (?, ?, ?, ?, ?)"
	deleteKey = `DELETE FROM idempotency WHERE execution_id = ? AND (service, agent_id, idem_key) IN
			(SELECT service, agent_id, idem_key FROM executions WHERE id = ?)`

	selectCounter = "SELECT slot, counts, dispatch, dispatch_slot FROM counters " +
		"WHERE service = ? AND agent_id = ? AND limit_id = ? AND period = ? FOR UPDATE"
	insertCounter = `INSERT INTO counters (slot, counts, dispatch, dispatch_slot, frees_at, service, agent_id, limit_id, period)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	orUpdateCounter = ` ON CONFLICT (service, agent_id, limit_id, period) DO UPDATE SET slot = excluded.slot, counts = excluded.counts,
		dispatch = excluded.dispatch, dispatch_slot = excluded.dispatch_slot, frees_at = excluded.frees_at`
	updateCounter = `UPDATE counters SET slot = ?, counts = ?, dispatch = ?, dispatch_slot = ?, frees_at = ?
		WHERE service = ? AND agent_id = ? AND limit_id = ? AND period = ?`
	updateCounterFrom = updateCounter + " AND slot = ? AND counts = ? AND dispatch = ? AND dispatch_slot = ?"

	selectCreated = "SELECT created_at FROM agents WHERE service = ? AND id = ?"

	markUsed = "UPDATE agreements SET used_at = ? WHERE service = ? AND id = ? AND used_at = 0"
)

func scanExecution(scan engine.Scan) (e store.Execution, err error) {
	var started, deadline, settled, unresolved int64
	var v store.Evidence
	err = scan(&e.ID, &e.Service, &e.AgentID, &e.IdempotencyKey, &e.Fingerprint, &e.Intent, &e.AgreementID, &e.TokenID, &e.PolicyDigest,
		&e.Rule, &e.Charge.Nano, &e.Charge.Currency, &e.State, &e.Outcome, &started, &deadline, &settled, &e.ContextID, &unresolved,
		&v.KeyID, &v.Proof, &v.Decision)
	if v != (store.Evidence{}) {
		e.Evidence = &v
	}
	e.BeganAt, e.Deadline = engine.FromNanos(started), engine.FromNanos(deadline)
	e.SettledAt, e.UnresolvedAt = engine.FromNanos(settled), engine.FromNanos(unresolved)
	return e, err
}

// readExecutions returns the statements that read executions by their ids, and by their idempotency keys.
func (w *work) readExecutions() []engine.Command {
	list := make([]engine.Command, 0, len(w.need.executions)+len(w.need.keys))
	for _, k := range w.need.executions {
		list = append(list, engine.Command{Query: selectExecution, Args: []any{k.id, k.service}, Row: func(scan engine.Scan) error {
			e, err := scanExecution(scan)
			w.found.executions[k.id] = &e
			return err
		}})
	}
	for _, k := range w.need.keys {
		list = append(list, engine.Command{Query: selectKey, Args: []any{k.service, k.agentID, k.key}, Row: func(scan engine.Scan) error {
			var until int64
			var a answer
			e, err := scanExecution(func(dest ...any) error {
				return scan(append([]any{&until, &a.output, &a.reason, &a.code, &a.message, &a.details}, dest...)...)
			})
			if err != nil {
				return err
			}
			e.Answer = a.stored()
			w.found.keys[k] = keyedExecution{e.ID, until}
			if known := w.found.executions[e.ID]; known != nil { // already read by its id
				known.Answer = e.Answer
				return nil
			}
			w.found.executions[e.ID] = &e
			return nil
		}})
	}
	return list
}

// readCounters returns the statements that read counters, except those in the cache.
func (w *work) readCounters() (list []engine.Command) {
	for _, k := range w.need.counters {
		c := &counter{Window: window.Window{Period: k.Period}}
		w.limits.counters[k] = c
		if c.was, c.found = w.calls.memory.counters[k]; c.found {
			continue
		}
		key := []any{k.Service, k.AgentID, k.LimitID, string(k.Period)}
		list = append(list, engine.Command{Query: selectCounter, Args: key, Row: func(scan engine.Scan) error {
			c.found = true
			return scan(&c.was.Slot, &c.was.Counts, &c.was.Dispatch, &c.was.DispatchSlot)
		}})
	}
	return append(list, w.readCreated()...)
}

// readCreated returns the statements that read the creation times of agents whose limits a restore may hold back, except agents in the
// cache. An agent that was not read counts as older than the restore, and one that was not found as younger.
func (w *work) readCreated() (list []engine.Command) {
	hold, now := w.calls.db.Hold(), w.calls.db.Counted()
	if hold.Since.IsZero() {
		return nil
	}
	for _, k := range w.need.counters {
		over := k.Period.Frees(k.Period.Slot(hold.Since))
		if over.IsZero() || now.After(over.Add(heldMore)) || !heldBack(k.LimitID) {
			continue
		}
		agent := ref{k.Service, k.AgentID}
		if _, has := w.limits.created[agent]; has {
			continue
		}
		if at, known := w.calls.memory.created[agent]; known {
			w.limits.created[agent] = at
			continue
		}
		w.limits.created[agent] = math.MaxInt64
		list = append(list, engine.Command{Query: selectCreated, Args: []any{k.Service, k.AgentID}, Row: func(scan engine.Scan) error {
			var at int64
			err := scan(&at)
			w.limits.created[agent] = at
			return err
		}})
	}
	return list
}

// heldBack reports whether a restore holds a limit back. It is true for the limits of a policy and for the budgets that people gave.
func heldBack(id string) bool {
	kind := limit.KindOf(id)
	return kind == limit.Policy || kind == limit.Budget
}

// heldMore is how much longer than its period a window may be held back, for example because the clock of a server was set.
const heldMore = 48 * time.Hour

// openCounters moves the counters to the slots of the transaction's time.
func (w *work) openCounters() {
	slots, stepped, hold := w.t.Slots(), w.t.Step(), w.calls.db.Hold()
	for _, k := range w.need.counters {
		c := w.limits.counters[k]
		c.Slot, c.dispatch, c.dispatchSlot = c.was.Slot, c.was.Dispatch, c.was.DispatchSlot
		c.Counts, c.err = window.Decode(c.was.Counts)
		c.Reach(w.t.Counted())
		c.leave(slots)
		// The service's own limits continue from the stored count, and agents that were not in the restored state start with unused limits.
		if heldBack(k.LimitID) && hold.Knows(w.limits.created[ref{k.Service, k.AgentID}]) {
			c.Restore(hold.Since, hold.Allowance)
		}
		c.Hold(stepped, w.t.Counted())
	}
}

// statements returns the statements that write the changes. They are correct even if other processes write concurrently. Rows that all
// writers use come last. A missing row is inserted; if another writer has inserted it first, the statement fails and the transaction is
// retried.
func (w *work) statements() []engine.Command {
	list := append(w.unchangedAgreements(), writeBeginnings(w.changes.beginnings, true)...)
	list = append(list, engine.Together(w.changes.writes)...)
	list = append(list, writeMoves(w.changes.moves)...)
	for _, k := range slices.SortedFunc(maps.Keys(w.limits.counters), CounterKey.compare) {
		if c := w.limits.counters[k]; c.dirty {
			list = append(list, w.writeCounter(k, c))
		}
	}
	list = append(list, w.book.WriteAccounts()...)
	list = append(list, w.book.WritePools()...)
	for _, k := range slices.SortedFunc(maps.Keys(w.agreements.used), ref.compare) {
		list = append(list, engine.Command{Query: markUsed, Args: []any{engine.Nanos(w.t.Now()), k.service, k.id}})
	}
	list = append(list, w.writeAnswerSizes()...)
	return append(list, ledger.WriteLines(w.book.Lines())...)
}

func (w *work) writeCounter(k CounterKey, c *counter) engine.Command {
	args := c.becomes(k).args()
	switch {
	case !c.found:
		return engine.Command{Query: insertCounter, Args: args}
	case w.t.Locking() == engine.Pessimistic:
		return engine.Command{Query: updateCounter, Args: args}
	}
	was := c.was
	return engine.Command{Query: updateCounterFrom, Args: append(args, was.Slot, was.Counts, was.Dispatch, was.DispatchSlot), Must: 1}
}

// Statements returns the statements that write the changes. They are correct only if no other process writes. The given statements run
// directly after the new executions are inserted.
func (c *Changes) Statements(between []engine.Command) []engine.Command {
	list := append(writeBeginnings(c.Beginnings, !c.Unchained), engine.Together(between)...)
	list = append(list, writeMoves(c.Changed)...)
	var rows []engine.Command
	for _, n := range slices.SortedFunc(slices.Values(c.Counters), func(a, b Counter) int { return a.compare(b.CounterKey) }) {
		rows = append(rows, engine.Command{Query: insertCounter + orUpdateCounter, Args: n.args()})
	}
	for _, a := range slices.SortedFunc(slices.Values(c.Accounts), func(a, b ledger.Account) int { return a.Compare(b.AccountKey) }) {
		rows = append(rows, a.Upsert(!c.Unchained))
	}
	list = append(list, engine.Together(rows)...)
	for _, p := range c.Pools {
		list = append(list, p.Upsert())
	}
	for _, u := range c.Used {
		list = append(list, engine.Command{Query: markUsed, Args: []any{engine.Nanos(u.At), u.Service, u.ID}})
	}
	return append(list, ledger.WriteLinesAlone(c.Lines, !c.Unchained)...)
}

// writeBeginnings returns the statements that record executions.
func writeBeginnings(list []Beginnings, chained bool) []engine.Command {
	rows := engine.RowsFor(insertExecution, len(list))
	if !chained {
		rows = engine.RowsFor(insertUnchained, len(list))
	}
	for _, e := range list {
		rows.Text(e.ID)
		rows.Text(e.Service)
		rows.Text(string(e.AgentID))
		rows.Text(e.IdempotencyKey)
		rows.Text(e.Fingerprint)
		rows.Text(e.Intent)
		rows.Text(string(e.AgreementID))
		rows.Text(string(e.TokenID))
		rows.Text(e.PolicyDigest)
		rows.Text(e.Rule)
		rows.Int(e.Charge.Nano)
		rows.Text(e.Charge.Currency)
		rows.Text(string(e.State))
		rows.Text(string(e.Outcome))
		rows.Int(engine.Nanos(e.BeganAt))
		rows.Int(engine.Nanos(e.Deadline))
		rows.Int(engine.Nanos(e.SettledAt))
		rows.Text(e.ContextID)
		rows.Int(engine.Nanos(e.UnresolvedAt))
		rows.Int(e.Forget)
		if !chained {
			continue
		}
		var v store.Evidence
		if e.Evidence != nil {
			v = *e.Evidence
		}
		rows.Text(v.KeyID)
		rows.Text(v.Proof)
		rows.Text(v.Decision)
	}
	return rows.Statements()
}

// A transition is a change of an execution's state.
type transition struct {
	from, to            store.State
	outcome             store.Outcome
	settled, unresolved int64
}

func transitionOf(m ledger.Line) transition {
	return transition{m.From, m.State, m.Outcome, engine.Nanos(m.SettledAt), engine.Nanos(m.UnresolvedAt)}
}

// writeMoves returns the statements that change executions. Equal changes share a statement. If an execution becomes unresolved and is
// settled in the same transaction, its statements are in that order.
func writeMoves(moves []ledger.Line) []engine.Command {
	alike := map[transition][]ledger.Line{}
	for _, m := range moves {
		alike[transitionOf(m)] = append(alike[transitionOf(m)], m)
	}
	kinds := slices.SortedFunc(maps.Keys(alike), func(a, b transition) int {
		return cmp.Or(strings.Compare(string(a.from), string(b.from)), strings.Compare(string(a.to), string(b.to)),
			strings.Compare(string(a.outcome), string(b.outcome)), cmp.Compare(a.unresolved, b.unresolved))
	})
	var list []engine.Command
	for _, k := range kinds {
		engine.Chunked(alike[k], func(same []ledger.Line) { list = append(list, writeMove(same)) })
	}
	return list
}

// writeMove returns the statement that changes executions with equal transitions.
func writeMove(same []ledger.Line) engine.Command {
	m := transitionOf(same[0])
	args := append(make([]any, 0, 4+len(same)), string(m.to), string(m.outcome), m.settled, m.unresolved)
	for _, l := range same {
		args = append(args, l.ID)
	}
	return engine.Command{
		// The old state is not an argument: some indexes cover a single state, and SQLite would plan the statement again for every argument.
		Query: "UPDATE {whole}executions SET state = ?, outcome = ?, settled_at = ?, unresolved_at = ? WHERE state = '" + string(m.from) +
			"' AND id IN (?" + strings.Repeat(", ?", len(same)-1) + ")",
		Args: args, Must: len(same),
	}
}
