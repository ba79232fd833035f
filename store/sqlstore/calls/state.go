package calls

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/nonces"
	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// Calls are the calls of agents in a database. Open it with the database.
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

// Bounds bound the stored data.
type Bounds struct {
	AnswersOfAgent, Answers int64 // bytes
	Nonces                  int   // that may be in use at a time, if they are known in memory
}

// A call is an operation whose rows are known before it runs. It writes after every check, so that there is nothing to undo if it fails.
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

// A work is what the calls of a transaction, or one operation, have read and change.
type work struct {
	t     *engine.Tx
	calls *Calls
	mode  mode
	need  rowSet // of all calls
	book  *ledger.Book

	// What has been read, in its state at the end of the transaction.
	counters   map[CounterKey]*counter
	executions map[string]*store.Execution // by id
	keys       map[idempotencyKey]keyedExecution
	nonces     map[nonceKey]bool // used
	answers    answerSizes
	used       map[ref]bool // first used now

	changes pendingWrites
}

// mode is how a work gets the rows it reads.
type mode int

const (
	// single works of one operation read as they run.
	single mode = iota
	// batched works have read what their calls need before.
	batched
	// presuming works are batched, and assume some executions to be as their calls left them.
	presuming
)

// pendingWrites is what a work must write.
type pendingWrites struct {
	beginnings []Beginnings
	moves      []ledger.Line
	writes     []engine.Command // to be run in their order
	plain      bool             // a Journal can hold all changes back
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

// mismatch makes the failure of a change one after which the transaction is retried, if the cache may be out of date.
func (w *work) mismatch(err error) error {
	if w.mode == presuming {
		w.t.Fail(engine.Conflict(engine.ErrUnchanged))
	}
	return err
}

// memory is the state that the only writer of a database keeps in memory, as its last transaction left it. So a call of an agent that
// called recently reads nothing.
type memory struct {
	journal  Journal // may be nil
	counters map[CounterKey]Counter
	accounts ledger.Cache
}

func (m *memory) drop() {
	m.counters = nil
	m.accounts.Forget()
}

// A Journal holds back what calls changed before it is written into the tables. The writer of an Exclusive database calls it, except
// Pending and Check, which may be called at any time.
type Journal interface {
	// Before is called when a transaction has begun. If that reads the tables, they have everything afterwards.
	Before(ctx context.Context, t *engine.Tx, reads bool) error
	// Find returns the statements that check whether an execution which is about to begin already exists, and calls found if so.
	Find(id string, found func()) []engine.Command
	// Began reports whether an execution is known to be as it began.
	Began(id string) bool
	// Changed is called before an execution changes.
	Changed(id string)
	// Keep returns the statement that holds changes back, or false if they must be written into the tables now.
	Keep(t *engine.Tx, c *Changes) (engine.Command, bool)
	// Apply writes what was held back into the tables, before changes that are written there.
	Apply(ctx context.Context, t *engine.Tx, c *Changes) error
	// Forget drops the state.
	Forget()
	// Behind reports whether the tables may lack something.
	Behind() bool
	// Pending reads whether the tables lack something.
	Pending(ctx context.Context) (bool, error)
	// Check checks that what is held back fits the tables, and counts it.
	Check(ctx context.Context, reader *sql.Tx) (Unwritten, error)
}

// Unwritten counts what a Journal holds back.
type Unwritten struct {
	Executions, Unresolved, Entries int64
	Latest                          time.Time
}

// answerSizes are the sizes of stored answers, as far as a transaction has read them.
type answerSizes struct {
	kept  map[ref]int64 // as it was read, and what the transaction added
	all   int64
	added map[ref]int64 // to be written
}

// Counted returns the time on the clock on which limits are counted, and deadlines of calls measured. In an embedded database
// that clock does not jump when the wall clock is set.
func (c *Calls) Counted() time.Time { return c.db.Counted() }

// A counter is a window inside a transaction.
type counter struct {
	window.Window
	found bool // the row exists
	dirty bool
	err   error // the stored counts are invalid
	was   Counter

	// The largest numbers of recently used dispatch slots, and their slot.
	dispatch, dispatchSlot int64
	own                    int64 // the dispatch slots of this transaction's admissions
}

// usedNonces is the set of used nonces that the only writer keeps in memory: all that the database had, and those committed since.
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

// mostNonces bounds the memory for nonces in use: 60 MB. Further ones are refused until some have expired.
const mostNonces = 4 << 20

func (n *usedNonces) forget() { *n = usedNonces{} }

// A releaseQueue holds calls that were refused because the connection was lost during their commit. It is unknown whether they began, but
// they were certainly not sent, so they are released as soon as the database is available.
type releaseQueue struct {
	mu    sync.Mutex
	calls []unsettledCall
	busy  bool // a goroutine works on it
}

// An unsettledCall waits to be released.
type unsettledCall struct {
	store.Admission

	tries int
}
