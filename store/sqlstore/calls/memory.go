package calls

import (
	"context"
	"database/sql"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// A Journal holds back what calls changed before it is written into the tables. The writer of an Exclusive database calls it, but for
// Pending and Check, which may be called at any time.
type Journal interface {
	// Before is called when a transaction has begun. Where that reads the tables, they then have everything.
	Before(ctx context.Context, t *engine.Tx, reads bool) error
	// Find returns the statements that look whether an execution which is about to begin is there already, and calls found if so.
	Find(id string, found func()) []engine.Command
	// Began reports whether an execution is known to be as it began.
	Began(id string) bool
	// Moved is called before an execution changes.
	Moved(id string)
	// Keep returns the statement that holds changes back, or false if they have to be written into the tables now.
	Keep(t *engine.Tx, c *Changes) (engine.Command, bool)
	// Apply writes what was held back into the tables, before changes that are written there.
	Apply(ctx context.Context, t *engine.Tx, c *Changes) error
	// Forget drops what is known.
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

// memory is what the only writer of a database knows of it: as its last transaction left it. So a call of an agent that called lately
// reads nothing.
type memory struct {
	journal  Journal // may be nil
	counters map[CounterKey]Counter
	accounts ledger.Cache
}

// mostKnown bounds the counters and the accounts: then the writer begins anew.
const mostKnown = 8 << 10

// learn keeps what a transaction has read and written, once it is committed. What a journal holds back stays known.
func (m *memory) learn(w *work, changes *Changes) {
	if len(m.counters) > mostKnown || m.accounts.Len() > mostKnown {
		if m.journal == nil || !m.journal.Behind() {
			m.drop()
		}
	}
	if m.counters == nil {
		m.counters = map[CounterKey]Counter{}
	}
	for k, c := range w.counters {
		if c.found {
			m.counters[k] = c.was
		}
	}
	for i := range changes.Counters {
		m.counters[changes.Counters[i].CounterKey] = changes.Counters[i]
	}
	m.accounts.Learn(w.book, changes.Pools)
}

func (m *memory) drop() {
	m.counters = nil
	m.accounts.Forget()
}

// write returns the statements that make changes durable.
func (m *memory) write(ctx context.Context, w *work, c *Changes) ([]engine.Command, error) {
	other := append(w.changes.writes, w.writeAnswerSizes()...)
	if c.Empty() && len(other) == 0 {
		return nil, nil
	}
	if m.journal == nil {
		return c.Statements(other), nil
	}
	if plain := w.changes.plain && len(other) == 0 && len(c.Lines) == len(c.Begun)+len(c.Moved); plain {
		if one, kept := m.journal.Keep(w.t, c); kept {
			return []engine.Command{one}, nil
		}
	}
	err := m.journal.Apply(ctx, w.t, c)
	return c.Statements(other), err
}

// readJournal prepares the journal for a transaction, and finds out whether its changes can be held back.
func (w *work) readJournal(ctx context.Context) (list []engine.Command, err error) {
	j, n := w.calls.memory.journal, &w.need
	reads := len(n.keys) > 0 || len(n.executions) > 0
	if err := j.Before(ctx, w.t, reads); err != nil {
		return nil, err
	}
	w.changes.plain = !reads && len(n.answers) == 0
	for _, e := range n.presumed {
		if !j.Began(e.ID) {
			w.changes.plain = false
		}
	}
	for _, id := range n.begins {
		list = append(list, j.Find(id, func() { w.changes.plain = false })...)
	}
	return list, nil
}

// Forget implements engine.Layer.
func (c *Calls) Forget() {
	c.memory.drop()
	c.nonces.forget()
	if c.memory.journal != nil {
		c.memory.journal.Forget()
	}
}

// CatchUp implements engine.Layer. The operations that follow may change what is known.
func (c *Calls) CatchUp(ctx context.Context, t *engine.Tx) error {
	t.After(c.memory.drop)
	if c.memory.journal == nil {
		return nil
	}
	return c.memory.journal.Before(ctx, t, true)
}

// Behind implements engine.Layer.
func (c *Calls) Behind() bool { return c.memory.journal != nil && c.memory.journal.Behind() }

// Pending implements engine.Layer.
func (c *Calls) Pending(ctx context.Context) (bool, error) {
	if c.memory.journal == nil {
		return false, nil
	}
	return c.memory.journal.Pending(ctx)
}
