package calls

import (
	"context"
	"sync"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/nonces"
	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// Calls begins and settles the calls of agents in a database.
type Calls struct {
	// Bounds may be changed before the first call.
	Bounds Bounds

	db       *engine.DB
	epochs   *ledger.Epochs
	queue    *engine.Calls[call]
	memory   memory
	nonces   usedNonces
	used     *recent // agreements that have used_at set
	releases releaseQueue
	noncesAs map[string]string // by service: its former id, if the digests of its nonces contain that id
}

// Bounds are the limits of the stored data.
type Bounds struct {
	AnswersOfAgent, Answers int64 // bytes
	Nonces                  int   // how many nonces may be in use at the same time, on an Exclusive database
}

// A call is an operation whose rows are known before it runs. It changes nothing before all its checks have passed, so that there is
// nothing to undo if it fails.
type call struct {
	rows rowSet
	run  func(context.Context, *work) error
	err  error
}

// call runs a call of an agent, in a transaction that other calls may share.
func (c *Calls) call(ctx context.Context, rows rowSet, run func(context.Context, *work) error) error {
	one := &call{rows: rows, run: run}
	if err := c.queue.Do(ctx, rows.agentID, one); err != nil {
		return err
	}
	return one.err
}

// A work holds the rows that the calls of a transaction, or a single operation, have read and changed.
type work struct {
	t     *engine.Tx
	calls *Calls
	mode  mode
	need  rowSet // the rows that all calls need
	book  *ledger.Book

	// The rows that have been read, with their values at the end of the transaction.
	limits     limitRows
	found      executionRows
	agreements agreementRows
	nonces     map[nonceKey]bool // used
	answers    answerSizes

	changes pendingWrites
}

// limitRows are the rows that decide whether a call is within its limits.
type limitRows struct {
	counters map[CounterKey]*counter
	// created is when agents were created, if a restore holds back limits; see readCreated.
	created map[ref]int64
}

// executionRows are the executions of a transaction, by id and by idempotency key.
type executionRows struct {
	executions map[string]*store.Execution // by id
	keys       map[idempotencyKey]keyedExecution
}

// agreementRows are the facts about agreements that a transaction has read.
type agreementRows struct {
	active  map[ref]int64 // those that must be active, and when another plan replaces them
	budgets map[ref]int   // numbers of the newest changes of budgets, by agreement
	relied  map[ref]bool  // those that must not change between the read and the commit of the transaction
	used    map[ref]bool  // those that are used for the first time
}

// mode is how a work reads rows.
type mode int

const (
	// single is the mode of a single operation, which reads rows while it runs.
	single mode = iota
	// batched is the mode of calls whose rows are read before they run.
	batched
	// presuming is like batched, but some executions are assumed to be as in the cache.
	presuming
)

// pendingWrites are the changes that a work must write.
type pendingWrites struct {
	beginnings []Beginnings
	moves      []ledger.Line
	writes     []engine.Command // run in order
	plain      bool             // all changes can stay in the journal
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
		t: t, calls: c, mode: m, book: ledger.NewBook(t, c.db.Sharing(), c.epochs, known),
		limits: limitRows{counters: map[CounterKey]*counter{}, created: map[ref]int64{}},
		found:  executionRows{executions: map[string]*store.Execution{}, keys: map[idempotencyKey]keyedExecution{}},
		agreements: agreementRows{
			active: map[ref]int64{}, budgets: map[ref]int{}, relied: map[ref]bool{}, used: map[ref]bool{},
		},
		nonces:  map[nonceKey]bool{},
		answers: answerSizes{kept: map[ref]int64{}, added: map[ref]int64{}},
	}
}

// write runs a statement whose result the operation does not need. The statements of calls run after all calls have run.
func (w *work) write(ctx context.Context, query string, args ...any) error {
	if w.mode == single {
		_, err := w.t.Exec(ctx, query, args...)
		return err
	}
	w.changes.plain = false
	w.changes.writes = append(w.changes.writes, engine.Command{Query: query, Args: args})
	return nil
}

// mismatch returns err, the error of a change. If the cache may be outdated, mismatch also makes the transaction fail, so that it is
// retried.
func (w *work) mismatch(err error) error {
	if w.mode == presuming {
		w.t.Fail(engine.Conflict(engine.ErrUnchanged))
	}
	return err
}

// memory is the state that the only writer of a database keeps in memory, as its last transaction left it. With it, a call of an agent that
// called recently reads nothing from the database.
type memory struct {
	journal  Journal // may be nil
	counters map[CounterKey]Counter
	created  map[ref]int64 // when agents were created, if a restore holds back limits
	accounts ledger.Cache
}

func (m *memory) drop() {
	m.counters, m.created = nil, nil
	m.accounts.Forget()
}

// A Journal holds changes of calls until they are written into the tables. The writer of an Exclusive database calls its methods; only
// Pending and Check may be called at any time.
type Journal interface {
	// Before is called at the start of a transaction. If reads is set, the transaction reads the tables, and Before writes all pending changes
	// into them.
	Before(ctx context.Context, t *engine.Tx, reads bool) error
	// Find returns the statements that check whether an execution that is about to begin already exists. If the execution exists, found is
	// called: by Find, or while the statements run.
	Find(id string, found func()) []engine.Command
	// Began reports whether an execution is known to be unchanged since it began.
	Began(id string) bool
	// Changed is called before an execution changes.
	Changed(id string)
	// Keep returns the statement that adds changes to the journal, or false if they must be written into the tables now.
	Keep(t *engine.Tx, c *Changes) (engine.Command, bool)
	// Apply writes the pending changes into the tables. It is called before c is written there.
	Apply(ctx context.Context, t *engine.Tx, c *Changes) error
	// Forget drops the state in memory.
	Forget()
	// Behind reports whether changes may be pending.
	Behind() bool
	// Pending reads from the database whether changes are pending.
	Pending(ctx context.Context) (bool, error)
	// Check checks that the pending changes are consistent with the tables, and counts them.
	Check(ctx context.Context, reader *engine.Reader) (Unwritten, error)
}

// Unwritten counts the pending changes of a Journal.
type Unwritten struct {
	Executions, Unresolved, Entries int64
	Latest                          time.Time
}

// answerSizes are the total sizes of stored answers that a transaction has read, in bytes.
type answerSizes struct {
	kept  map[ref]int64 // by agent, including the records that the transaction adds
	all   int64
	added map[ref]int64 // to be written
}

// Counted returns the time of the clock for limits and the deadlines of calls. In an embedded database, this clock does not jump when the
// wall clock is set.
func (c *Calls) Counted() time.Time { return c.db.Counted() }

// A counter is a window inside a transaction.
type counter struct {
	window.Window
	found bool // the row exists
	dirty bool
	err   error // the stored counts are invalid
	was   Counter

	// The largest number of dispatch slots that a recent admission has, and the slot of that admission.
	dispatch, dispatchSlot int64
	own                    int64 // the number of dispatch slots that each admission of this transaction has
}

// usedNonces is the set of used nonces that the only writer keeps in memory: those that it read from the database, and those that it
// committed since.
type usedNonces struct {
	set   nonces.Set
	read  bool
	taken []takenNonce // in the present transaction
}

// A takenNonce is a nonce that an operation of the transaction uses.
type takenNonce struct {
	digest nonces.Digest
	until  int64
}

// mostNonces is the maximum number of nonces in use. They take up to 60 MB of memory. Further nonces are refused until some have expired.
const mostNonces = 4 << 20

func (n *usedNonces) forget() { *n = usedNonces{} }

// A releaseQueue holds calls that were refused because the connection was lost during their commit. It is unknown whether they began, but
// they were not sent, so they are released as soon as the database is available.
type releaseQueue struct {
	mu    sync.Mutex
	calls []unsettledCall
	busy  bool // a goroutine works on the queue
}

// An unsettledCall is a call that waits to be released.
type unsettledCall struct {
	store.Admission

	tries int
}
