// Package calls begins and settles calls. The nonce, idempotency key, limits, charge and answer of a call are written in one transaction,
// all of them or none.
package calls

import (
	"context"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// New returns the Calls of a database, and sets db.Layer to them. Entries of the ledger belong to the epochs of l. If journal is nil, or
// several processes share the database, changes are written directly into the tables.
func New(db *engine.DB, l *ledger.Ledger, journal Journal) *Calls {
	if db.Sharing() == engine.Shared {
		journal = nil
	}
	c := &Calls{
		db: db, epochs: &l.Epochs, memory: memory{journal: journal}, used: newRecent(1 << 15),
		Bounds: Bounds{AnswersOfAgent: store.MaxAnswersOfAgent, Answers: store.MaxAnswers, Nonces: mostNonces},
	}
	c.queue = engine.NewCalls(db, func(t *engine.Tx, batch []*call, attempt int) engine.Turn[call] {
		return c.turn(t, batch, attempt)
	})
	db.Layer = c
	return c
}

// ReadMoves reads which services had another id when they recorded nonces.
func (c *Calls) ReadMoves(ctx context.Context) error {
	c.noncesAs = map[string]string{}
	return c.db.List(ctx, "SELECT id, nonces_as FROM services WHERE nonces_as <> ''", nil, func(scan engine.Scan) error {
		var id, as string
		err := scan(&id, &as)
		c.noncesAs[id] = as
		return err
	})
}

// turn returns the work of a transaction of calls. Only the first attempt relies on cached executions.
func (c *Calls) turn(t *engine.Tx, batch []*call, attempt int) *work {
	w := c.newWork(t, batched)
	w.need = mergeRowSets(batch)
	if attempt > 1 {
		w.need.readCached()
	}
	return w
}

// Read implements engine.Turn. It reads nonces before idempotency keys, because a statement may see commits that the previous statement did
// not see. So if another process has begun a call and its nonce is found used, its idempotency key is found as well.
func (w *work) Read(ctx context.Context) ([]engine.Command, error) {
	var list []engine.Command
	if w.calls.memory.journal != nil {
		var err error
		if list, err = w.readJournal(ctx); err != nil {
			return nil, err
		}
	}
	list = append(list, w.readAgreements()...)
	list = append(list, w.readNonces()...)
	list = append(list, w.readExecutions()...)
	list = append(list, w.readCounters()...)
	list = append(list, w.book.Read(w.need.accounts, w.need.pools)...)
	return append(list, w.readAnswerSizes()...), nil
}

// Run implements engine.Turn.
func (w *work) Run(ctx context.Context, batch []*call) error {
	for _, e := range w.need.cached {
		if w.found.executions[e.ID] == nil { // an execution that was read by its idempotency key is not replaced
			record := *e
			w.found.executions[e.ID] = &record
			w.mode = presuming
		}
	}
	w.openCounters()
	w.book.Grow(len(batch))
	for _, c := range batch {
		c.err = c.run(ctx, w)
		if err := w.t.Failed(); err != nil {
			return err
		}
	}
	return nil
}

// Write implements engine.Turn.
func (w *work) Write(ctx context.Context) ([]engine.Command, error) {
	if w.calls.db.Sharing() == engine.Shared {
		return w.statements(), nil
	}
	changes, err := w.becomes(ctx)
	if err != nil {
		return nil, err
	}
	w.t.After(func() { w.calls.memory.learn(w, changes) })
	list, err := w.calls.memory.write(ctx, w, changes)
	return append(list, w.calls.nonces.write(w.t)...), err
}

// StartClock starts the clock that an embedded database uses to count limits. It does nothing for other databases.
func (c *Calls) StartClock(ctx context.Context) error {
	if c.db.Dialect().Counting != engine.ByAnchor {
		return nil
	}
	last, err := c.lastCounted(ctx)
	if err != nil {
		return err
	}
	return c.db.StartAnchor(ctx, last, rebase)
}

// mergeRowSets merges the row sets of a batch. Keys that are read are sorted and unique.
func mergeRowSets(batch []*call) (all rowSet) {
	all.begins, all.cached = make([]string, 0, len(batch)), make([]*store.Execution, 0, len(batch))
	all.counters, all.accounts = make([]CounterKey, 0, len(batch)), make([]ledger.AccountKey, 0, len(batch))
	for _, c := range batch {
		n := &c.rows
		all.begins = append(all.begins, n.begins...)
		all.executions = append(all.executions, n.executions...)
		all.cached = append(all.cached, n.cached...)
		all.keys = append(all.keys, n.keys...)
		all.agreements = append(all.agreements, n.agreements...)
		all.budgets = append(all.budgets, n.budgets...)
		all.nonces = append(all.nonces, n.nonces...)
		all.counters = append(all.counters, n.counters...)
		all.accounts = append(all.accounts, n.accounts...)
		all.pools = append(all.pools, n.pools...)
		all.answers = append(all.answers, n.answers...)
	}
	all.executions = sorted(all.executions, ref.compare)
	all.keys = sorted(all.keys, idempotencyKey.compare)
	all.agreements = sorted(all.agreements, ref.compare)
	all.budgets = sorted(all.budgets, ref.compare)
	all.nonces = sorted(all.nonces, nonceKey.compare)
	all.counters = sorted(all.counters, CounterKey.compare)
	all.accounts = sorted(all.accounts, ledger.AccountKey.Compare)
	all.pools = sorted(all.pools, ledger.PoolKey.Compare)
	all.answers = sorted(all.answers, ref.compare)
	return all
}
