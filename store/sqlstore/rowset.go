package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/internal/bulk"
	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
)

// The keys of rows that calls read and change. They have an order, in which all writers lock them.
type (
	accountKey     struct{ service, agentID, currency string }
	poolKey        struct{ service, currency string }
	idempotencyKey struct{ service, agentID, key string }
	nonceKey       struct{ service, keyID, id string }
	executionKey   struct{ service, id string }
)

func (k counterKey) compare(o counterKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.agentID, o.agentID),
		strings.Compare(k.limitID, o.limitID), strings.Compare(string(k.period), string(o.period)))
}

func (k executionKey) compare(o executionKey) int {
	return cmp.Or(strings.Compare(k.id, o.id), strings.Compare(k.service, o.service))
}

func (k idempotencyKey) compare(o idempotencyKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.agentID, o.agentID), strings.Compare(k.key, o.key))
}

func (k nonceKey) compare(o nonceKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.keyID, o.keyID), strings.Compare(k.id, o.id))
}

func (k accountKey) compare(o accountKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.agentID, o.agentID), strings.Compare(k.currency, o.currency))
}

func (k poolKey) compare(o poolKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.currency, o.currency))
}

// sorted orders keys and removes duplicates.
func sorted[K comparable](keys []K, compare func(a, b K) int) []K {
	if len(keys) > 1 {
		slices.SortFunc(keys, compare)
	}
	return slices.Compact(keys)
}

func order[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	return sorted(keys, compare)
}

// A rowSet holds the keys that a call reads or changes. All keys of a batch are read before its first call runs, in one
// order for all writers: so there are no deadlocks.
type rowSet struct {
	agentID    string   // of the call
	begins     []string // the ids of executions that are to begin
	executions []executionKey
	presumed   []*store.Execution // changed as they are here, and read only if they turn out to be otherwise
	keys       []idempotencyKey
	nonces     []nonceKey
	counters   []counterKey
	accounts   []accountKey
	pools      []poolKey
	answers    []agentKey // whose answers are to be kept

	// Most calls have one of each of these: room for them, in the same piece of memory.
	room struct {
		begins   [1]string
		presumed [1]*store.Execution
		nonces   [1]nonceKey
		accounts [1]accountKey
		counters [2]counterKey
	}
}

// newRowSet returns the empty row set of a call.
func newRowSet(agentID string) *rowSet {
	n := &rowSet{agentID: agentID}
	n.begins, n.presumed, n.nonces = n.room.begins[:0], n.room.presumed[:0], n.room.nonces[:0]
	n.accounts, n.counters = n.room.accounts[:0], n.room.counters[:0]
	return n
}

// mergeRowSets joins the row sets of a batch, each key once, in the order of keys.
func mergeRowSets(batch []*op) rowSet {
	var all rowSet
	for _, o := range batch {
		if o.rowSet == nil {
			continue
		}
		all.begins = append(all.begins, o.rowSet.begins...)
		all.executions = append(all.executions, o.rowSet.executions...)
		all.presumed = append(all.presumed, o.rowSet.presumed...)
		all.keys = append(all.keys, o.rowSet.keys...)
		all.nonces = append(all.nonces, o.rowSet.nonces...)
		all.counters = append(all.counters, o.rowSet.counters...)
		all.accounts = append(all.accounts, o.rowSet.accounts...)
		all.pools = append(all.pools, o.rowSet.pools...)
		all.answers = append(all.answers, o.rowSet.answers...)
	}
	all.executions = sorted(all.executions, executionKey.compare)
	all.keys = sorted(all.keys, idempotencyKey.compare)
	all.nonces = sorted(all.nonces, nonceKey.compare)
	all.counters = sorted(all.counters, counterKey.compare)
	all.accounts = sorted(all.accounts, accountKey.compare)
	all.pools = sorted(all.pools, poolKey.compare)
	all.answers = sorted(all.answers, agentKey.compare)
	return all
}

// A cachedAccount is a row in the state it will have when the transaction ends.
type cachedAccount struct {
	now   account
	was   account // as it was read
	found bool    // the row exists
	dirty bool
}

// A keyedExecution is the execution that an idempotency key belongs to.
type keyedExecution struct {
	id    string
	until int64
}

const (
	selectCounter = "SELECT slot, counts, dispatch, dispatch_slot FROM counters " +
		"WHERE service = ? AND agent_id = ? AND limit_id = ? AND period = ? FOR UPDATE"
	selectPlainAccount = "SELECT topped_up, held, captured, pooled FROM accounts WHERE service = ? AND agent_id = ? AND currency = ?"
	selectAccount      = selectPlainAccount + " FOR UPDATE"
	selectExecution    = "SELECT " + executionColumns + " FROM executions WHERE id = ? AND service = ? FOR UPDATE"
	selectKey          = `SELECT i.until, a.output, a.reason, a.code, a.message, a.details, e.id, e.service, e.agent_id, e.idem_key, ` +
		`e.fingerprint, e.intent,
		e.agreement_id, e.token_id, e.policy_digest, e.rule, e.amount, e.currency, e.state, e.outcome, e.begun_at, e.deadline, e.settled_at,
		e.context_id, e.unresolved_at FROM idempotency i JOIN executions e ON e.id = i.execution_id LEFT JOIN answers a ON a.execution_id = e.id
		WHERE i.service = ? AND i.agent_id = ? AND i.idem_key = ?`
)

var errNotDurable = errors.New("the server has fsync or synchronous_commit = off, so that a crash loses what was charged: set both to on")

// load begins the transaction, reads and locks what its calls need, and then, when nothing more can block, reads the
// clock. An unlocked transaction does not begin yet, and locks nothing.
func (t *tx) load(ctx context.Context, batch []*op) error {
	n := mergeRowSets(batch)
	if !t.presumes {
		n.readPresumed()
	}
	t.counters = make(map[counterKey]*counter, len(n.counters))
	var list []command
	switch {
	case t.w.s.dialect.sole:
		if err := t.w.known.begin(ctx, t.w); err != nil {
			return err
		}
		if err := t.catchUp(ctx, n); err != nil {
			return err
		}
		list = append(list, t.findBegun(n)...)
	case !t.unlocked:
		list = append(list, command{query: t.w.s.dialect.begin})
	}
	list = append(list, t.readNonces(n)...)
	list = append(list, t.readExecutions(n)...)
	stored := make([][]byte, len(n.counters))
	for i, k := range n.counters {
		c := &counter{Window: window.Window{Period: k.period}}
		t.counters[k] = c
		if c.was, c.found = t.w.known.counter(k); c.found {
			c.Slot, stored[i], c.dispatch, c.dispatchSlot = c.was.slot, c.was.counts, c.was.dispatch, c.was.dispatchSlot
			continue
		}
		key := []any{k.service, k.agentID, k.limitID, string(k.period)}
		list = append(list, command{query: selectCounter, args: key, row: func(scan scan) error {
			c.found = true
			err := scan(&c.Slot, &stored[i], &c.dispatch, &c.dispatchSlot)
			c.was = counterRow{slot: c.Slot, counts: stored[i], dispatch: c.dispatch, dispatchSlot: c.dispatchSlot}
			return err
		}})
	}
	for _, k := range n.accounts {
		list = append(list, t.readAccount(k)...)
	}
	for _, k := range n.pools {
		list = append(list, t.readPool(k)...)
	}
	list = append(list, t.readAnswerSizes(n)...)
	var clock int64
	if t.w.s.dialect.clock != "" {
		list = append(list, t.readState(&clock))
	}
	if t.unlocked {
		list = unlocked(list)
	}
	durable := true
	if q := t.w.s.dialect.durable; q != "" {
		list = append(list, command{query: q, row: func(scan scan) error { return scan(&durable) }})
	}
	t.asked = t.w.s.opts.Now()
	from := t.w.s.elapsed()
	if err := t.w.send(ctx, list); err != nil {
		return err
	}
	if !durable {
		return errNotDurable
	}
	t.presume(n)
	if t.w.s.dialect.clock == "" {
		t.now, t.counted = t.w.s.times(ctx)
	} else {
		t.now = time.UnixMicro(clock).UTC()
		t.counted = t.now
		t.w.s.seen(ctx, from, t.w.s.elapsed(), t.now)
		if err := t.verify(); err != nil {
			return err
		}
	}
	slots, stepped := t.w.s.pace.slots(t.asked), t.w.s.clockSteps.step()
	for i, k := range n.counters {
		c := t.counters[k]
		c.Counts, c.err = window.Decode(stored[i])
		c.Reach(t.counted)
		c.leave(slots)
		if limit.KindOf(k.limitID) == limit.Policy { // what was agreed; limits of the service's own go on from what is known
			c.Restore(fromNanos(t.w.s.floor.Load()))
		}
		c.Hold(stepped, t.counted)
	}
	return nil
}

// readExecutions reads executions by their ids, and by their idempotency keys.
func (t *tx) readExecutions(n rowSet) []command {
	list := make([]command, 0, len(n.executions)+len(n.keys))
	for _, k := range n.executions {
		list = append(list, command{query: selectExecution, args: []any{k.id, k.service}, row: func(scan scan) error {
			e, err := scanExecution(scan)
			set(&t.executions, k.id, &e)
			return err
		}})
	}
	for _, k := range n.keys {
		list = append(list, command{query: selectKey, args: []any{k.service, k.agentID, k.key}, row: func(scan scan) error {
			var until int64
			var a answer
			e, err := scanExecution(func(dest ...any) error {
				return scan(append([]any{&until, &a.output, &a.reason, &a.code, &a.message, &a.details}, dest...)...)
			})
			if err != nil {
				return err
			}
			e.Answer = a.stored()
			set(&t.keys, k, keyedExecution{e.ID, until})
			if known := t.executions[e.ID]; known != nil { // read for a call that is to be settled
				known.Answer = e.Answer
				return nil
			}
			set(&t.executions, e.ID, &e)
			return nil
		}})
	}
	return list
}

// readAccount returns the statement that reads an account, if it has to be read.
func (t *tx) readAccount(k accountKey) []command {
	a := &cachedAccount{now: account{accountKey: k}}
	set(&t.accounts, k, a)
	if !t.ownStatements {
		if was, found := t.w.known.account(k); found {
			*a = cachedAccount{now: was, was: was, found: true}
			return nil
		}
	}
	return []command{{query: selectAccount, args: []any{k.service, k.agentID, k.currency}, row: func(scan scan) error {
		var pooled int64
		err := scan(&a.now.toppedUp, &a.now.held, &a.now.captured, &pooled)
		a.now.pooled, a.found = pooled != 0, true
		a.was = a.now
		return err
	}}}
}

// set puts a value into a map, and makes the map if necessary.
func set[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

const (
	insertCounter = `INSERT INTO counters (slot, counts, dispatch, dispatch_slot, frees_at, service, agent_id, limit_id, period)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	orUpdateCounter = ` ON CONFLICT (service, agent_id, limit_id, period) DO UPDATE SET slot = excluded.slot, counts = excluded.counts,
		dispatch = excluded.dispatch, dispatch_slot = excluded.dispatch_slot, frees_at = excluded.frees_at`
	updateCounter = `UPDATE counters SET slot = ?, counts = ?, dispatch = ?, dispatch_slot = ?, frees_at = ?
		WHERE service = ? AND agent_id = ? AND limit_id = ? AND period = ?`
	insertAccount   = "INSERT INTO accounts (topped_up, held, captured, pooled, service, agent_id, currency) VALUES (?, ?, ?, ?, ?, ?, ?)"
	orUpdateAccount = ` ON CONFLICT (service, agent_id, currency) DO UPDATE SET topped_up = excluded.topped_up, held = excluded.held,
		captured = excluded.captured, pooled = excluded.pooled`
	updateAccount = "UPDATE accounts SET topped_up = ?, held = ?, captured = ?, pooled = ? WHERE service = ? AND agent_id = ? AND currency = ?"
	markUsed      = "UPDATE agreements SET used_at = ? WHERE service = ? AND id = ? AND used_at = 0"
	intoLedger    = "INSERT INTO ledger (seq, at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, to_state, actor) "
	insertEntry   = intoLedger + "VALUES ({ledger} - ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	insertNumber  = intoLedger + "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" // known
)

// changes returns the statements that write what has changed; the rows that all writers use come last. A row that was
// missing is inserted: where another writer was faster that fails, and the transaction is tried again.
func (t *tx) changes() []command {
	list := append(writeExecutions(nil, t.begun), together(t.writes)...)
	list = append(list, writeMoves(t.moves)...)
	var rows []command
	for _, k := range order(t.counters, counterKey.compare) {
		if c := t.counters[k]; c.dirty {
			rows = append(rows, t.writeCounter(k, c))
		}
	}
	for _, k := range order(t.accounts, accountKey.compare) {
		if a := t.accounts[k]; a.dirty {
			rows = append(rows, t.writeAccount(k, a))
		}
	}
	if t.w.s.dialect.sole {
		rows = together(rows)
	}
	list = append(list, rows...)
	for _, k := range order(t.owed, poolKey.compare) {
		list = append(list, t.writePool(k))
	}
	for _, k := range order(t.used, agreementKey.compare) {
		list = append(list, command{query: markUsed, args: []any{nanos(t.now), k.service, k.id}})
	}
	list = append(list, t.writeAnswerSizes()...)
	if n := len(t.lines); n > 0 {
		list = append(list, command{query: bumpLedger, args: []any{n}})
		list = append(list, writeLines(nil, insertEntry, t.lines, func(i int) int64 { return int64(n - 1 - i) })...)
	}
	t.forget()
	return list
}

// writeLines returns the statements that write lines of the ledger, whose numbers are told as the query takes them; j may be nil.
func writeLines(j *bulk.Joiner, query string, lines []line, number func(i int) int64) []command {
	rows := bulk.NewRows(query, len(lines))
	for i, l := range lines {
		rows.Int(number(i))
		rows.Int(nanos(l.at()))
		rows.Text(l.Service)
		rows.Text(string(l.AgentID))
		rows.Text(l.ID)
		rows.Text(l.Intent)
		rows.Text(l.Rule)
		rows.Int(l.Charge.Nano)
		rows.Text(l.Charge.Currency)
		rows.Text(string(l.from))
		rows.Text(string(l.to))
		rows.Text(l.by)
	}
	return inserted(j, query, rows)
}

// forget drops what was read and changed.
func (t *tx) forget() {
	t.counters, t.accounts, t.pools, t.owed, t.executions, t.keys, t.nonces, t.used = nil, nil, nil, nil, nil, nil, nil, nil
	t.answers = answerSizes{}
	t.begun, t.writes, t.moves, t.lines = nil, nil, nil, nil
}
