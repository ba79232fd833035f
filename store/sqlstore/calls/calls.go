// Package calls begins and settles calls: nonces, idempotency keys, limits, charges and answers, all or none, in one transaction.
package calls

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// Calls are those that agents make. Open and use it beside one database.
type Calls struct {
	// Bounds may be set before the first call.
	Bounds Bounds

	db       *engine.DB
	queue    *engine.Calls[call]
	memory   memory
	nonces   usedNonces
	used     *recent // agreements that have used_at set
	releases releaseQueue
	noncesAs map[string]string // the id in the digests of nonces, by service; others: its own
}

// Bounds are those of what is kept.
type Bounds struct {
	AnswersOfAgent, Answers int64 // bytes
	Nonces                  int   // that may be in use at a time, where they are known in memory
}

// New returns the calls of a database, and becomes its layer. A journal may be nil: changes are written into the tables at once.
func New(db *engine.DB, journal Journal) *Calls {
	if db.Sharing() == engine.Shared {
		journal = nil
	}
	c := &Calls{
		db: db, memory: memory{journal: journal}, used: newRecent(1 << 15),
		Bounds: Bounds{AnswersOfAgent: store.MaxAnswersOfAgent, Answers: store.MaxAnswers, Nonces: mostNonces},
	}
	c.queue = engine.NewCalls(db, func(t *engine.Tx, batch []*call, attempt int) engine.Turn[call] {
		return c.turn(t, batch, attempt)
	})
	db.Layer = c
	return c
}

// A call is an operation whose rows are known before it runs. It writes after every check, so that there is nothing to undo where it
// fails.
type call struct {
	rows rowSet
	run  func(context.Context, *work) error
	err  error
}

// call runs one call of an agent in a transaction with others.
func (c *Calls) call(ctx context.Context, rows rowSet, run func(context.Context, *work) error) error {
	one := &call{rows: rows, run: run}
	if err := c.queue.Do(ctx, rows.agentID, one); err != nil {
		return err
	}
	return one.err
}

// change runs an operation that reads what it needs as it runs.
func (c *Calls) change(ctx context.Context, run func(context.Context, *work) error) error {
	return c.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error { return c.within(ctx, t, run) })
}

// within is change inside a transaction.
func (c *Calls) within(ctx context.Context, t *engine.Tx, run func(context.Context, *work) error) error {
	w := c.newWork(t, single)
	if err := run(ctx, w); err != nil {
		return err
	}
	return t.Write(ctx, w.statements())
}

// Find reads a record to delete it, without its answer; store.ErrNotFound if there is none.
func (c *Calls) Find(ctx context.Context, t *engine.Tx, service, id string) (store.Execution, error) {
	return c.newWork(t, single).execution(ctx, service, id)
}

// ForgetKey deletes the idempotency key of an execution, and its answer.
func (c *Calls) ForgetKey(ctx context.Context, t *engine.Tx, id string) error {
	return c.within(ctx, t, func(ctx context.Context, w *work) error { return w.forgetKey(ctx, id) })
}

// ReadMoves reads which services had another id when their nonces were used.
func (c *Calls) ReadMoves(ctx context.Context) error {
	c.noncesAs = map[string]string{}
	return c.db.List(ctx, "SELECT id, nonces_as FROM services WHERE nonces_as <> ''", nil, func(scan engine.Scan) error {
		var id, as string
		err := scan(&id, &as)
		c.noncesAs[id] = as
		return err
	})
}

// A work is what the calls of a transaction, or one operation, have read and change.
type work struct {
	t     *engine.Tx
	calls *Calls
	mode  mode
	need  rowSet // of all calls
	book  *ledger.Book

	// What has been read, in the state it will have when the transaction ends.
	counters   map[CounterKey]*counter
	executions map[string]*store.Execution // by id
	keys       map[idempotencyKey]keyedExecution
	nonces     map[nonceKey]bool // used
	answers    answerSizes
	used       map[ref]bool // first used now

	changes pending
}

// mode is how a work comes to what it reads.
type mode int

const (
	// single works of one operation read as they run.
	single mode = iota
	// batched works have read what their calls need before.
	batched
	// presuming works are batched, and take some executions to be as their calls left them.
	presuming
)

// pending is what is to be written.
type pending struct {
	Begun  []Begun
	moves  []ledger.Line
	writes []engine.Command // to be run in their order
	plain  bool             // what is changed is no more than a Journal can hold back
}

// A keyedExecution is the execution that an idempotency key belongs to.
type keyedExecution struct {
	id    string
	until int64
}

func (c *Calls) newWork(t *engine.Tx, m mode) *work {
	var known *ledger.Cache
	if m != single && c.db.Sharing() == engine.Exclusive {
		known = &c.memory.accounts
	}
	return &work{
		t: t, calls: c, mode: m, book: ledger.NewBook(t, c.db.Sharing(), known),
		counters: map[CounterKey]*counter{}, executions: map[string]*store.Execution{}, keys: map[idempotencyKey]keyedExecution{},
		nonces: map[nonceKey]bool{}, answers: answerSizes{kept: map[ref]int64{}, added: map[ref]int64{}},
		used: map[ref]bool{},
	}
}

// turn returns the work of a transaction of calls. Only the first attempt presumes.
func (c *Calls) turn(t *engine.Tx, batch []*call, attempt int) *work {
	w := c.newWork(t, batched)
	w.need = mergeRowSets(batch)
	if attempt > 1 {
		w.need.readPresumed()
	}
	return w
}

// Read implements engine.Turn. Nonces are read before the idempotency keys: each statement may see what was committed since the one
// before, and a message that another process has begun must be found under its key, as what is in progress, wherever its nonce is
// found used.
func (w *work) Read(ctx context.Context) ([]engine.Command, error) {
	var list []engine.Command
	if w.calls.memory.journal != nil {
		var err error
		if list, err = w.readJournal(ctx); err != nil {
			return nil, err
		}
	}
	list = append(list, w.readNonces()...)
	list = append(list, w.readExecutions()...)
	list = append(list, w.readCounters()...)
	list = append(list, w.book.Read(w.need.accounts, w.need.pools)...)
	return append(list, w.readAnswerSizes()...), nil
}

// Run implements engine.Turn.
func (w *work) Run(ctx context.Context, batch []*call) error {
	for _, e := range w.need.presumed {
		if w.executions[e.ID] == nil { // one that was read by its idempotency key stays as it was read
			record := *e
			w.executions[e.ID] = &record
			w.mode = presuming
		}
	}
	w.openCounters()
	for _, c := range batch {
		c.err = c.run(ctx, w)
		if err := w.t.Failed(); err != nil {
			return err
		}
	}
	return nil
}

// mismatch makes the failure of a change one after which the transaction is tried again, if what was presumed may be wrong.
func (w *work) mismatch(err error) error {
	if w.mode == presuming {
		w.t.Fail(engine.Conflict(engine.ErrUnchanged))
	}
	return err
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

// write runs a statement whose result the operation does not need: that of a call runs when all calls have run.
func (w *work) write(ctx context.Context, query string, args ...any) error {
	if w.mode == single {
		_, err := w.t.Exec(ctx, query, args...)
		return err
	}
	w.changes.plain = false
	w.changes.writes = append(w.changes.writes, engine.Command{Query: query, Args: args})
	return nil
}

// StartClock starts the clock on which an embedded database counts.
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

// Counted returns the time on the clock on which limits are counted, and deadlines of calls measured. In an embedded database
// that clock does not jump when the wall clock is set.
func (c *Calls) Counted() time.Time { return c.db.Counted() }
