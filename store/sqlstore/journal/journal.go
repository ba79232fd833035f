// Package journal makes the changes of calls on SQLite durable before they are written into their tables: it stores those of each
// transaction as one row. Consecutive rows are merged and written into the tables together; the result is the same as if each row had been
// written separately. Until then the tables are unchanged, so the pending changes are written before any other operation reads or changes
// these tables.
//
// The store also works without this package: calls.New accepts a nil Journal. docs/design/0006-journal.md explains the design.
package journal

import (
	"context"
	"fmt"

	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A Journal implements calls.Journal on an Exclusive database.
type Journal struct {
	db      *engine.DB // also used by readers, so it never changes
	encoder Encoder
	memory
}

// memory is the state of the journal that the writer keeps in memory. Only the writer, or an operation that runs alone, uses it.
type memory struct {
	state   state
	pending PendingChanges // changes that the tables do not have yet
	applied *engine.Tx
	newest  string // no execution in the table has a higher id
	// began contains the executions that this writer began and that no other operation has changed since.
	began map[string]struct{}
}

// state is whether the pending changes are in memory. They must be read again after another process has written, or after a transaction has
// failed, because it is unknown whether that transaction was committed.
type state int

const (
	unread state = iota
	known
)

// New returns the journal of a database.
func New(db *engine.DB) *Journal { return &Journal{db: db} }

// Limits of the pending changes.
const (
	MostPending = 2048 // rows to write

	mostRecords = 4 << 10  // records to merge
	mostBegun   = 32 << 10 // executions in began
)

const (
	insertRecord  = "INSERT INTO journal (effects) VALUES (?)"
	selectRecords = "SELECT effects FROM journal WHERE id > 0 ORDER BY id"
	selectRecord  = "SELECT 1 FROM journal WHERE id > 0 LIMIT 1"
	deleteRecords = "DELETE FROM journal"
	selectNewest  = "SELECT COALESCE(MAX(id), '') FROM executions"
	selectThere   = "SELECT 1 FROM executions WHERE id = ?"
)

// Forget implements calls.Journal.
func (j *Journal) Forget() { j.memory = memory{} }

// Held returns how many rows and records are pending, and whether these numbers are certain. It must be called in a transaction, or while
// there is none.
func (j *Journal) Held() (rows, records int, sure bool) {
	return j.pending.Size(), j.pending.Records, j.state == known
}

// Behind implements calls.Journal.
func (j *Journal) Behind() bool { return j.state == unread || !j.pending.Empty() }

// Pending implements calls.Journal.
func (j *Journal) Pending(ctx context.Context) (bool, error) {
	return j.db.One(ctx, selectRecord, nil, new(int64))
}

// Before implements calls.Journal. It reads the journal if its changes are not in memory. It writes the pending changes into the tables if
// they were just read, if the transaction reads the tables, or if too many changes are pending.
func (j *Journal) Before(ctx context.Context, t *engine.Tx, reads bool) error {
	due := reads || j.pending.Size() > MostPending || j.pending.Records > mostRecords
	if j.state == unread {
		due = true
		if err := j.read(ctx, t); err != nil {
			return err
		}
	}
	if !due {
		return nil
	}
	return j.apply(ctx, t)
}

// read reads the pending changes, inside a transaction.
func (j *Journal) read(ctx context.Context, t *engine.Tx) error {
	j.pending = PendingChanges{}
	err := t.Send(ctx, []engine.Command{
		{Query: selectRecords, Row: func(scan engine.Scan) error {
			var effects []byte
			if err := scan(&effects); err != nil {
				return err
			}
			return addRecord(&j.pending, effects)
		}},
		{Query: selectNewest, Row: func(scan engine.Scan) error { return scan(&j.newest) }},
	})
	if err == nil {
		j.state = known
	}
	return err
}

// addRecord adds a row of the journal to the pending changes.
func addRecord(p *PendingChanges, effects []byte) error {
	r, err := Decode(effects)
	if err != nil {
		return fmt.Errorf("reading charges from the journal: %w", err)
	}
	p.Add(r)
	return nil
}

// Find implements calls.Journal.
func (j *Journal) Find(id string, found func()) []engine.Command {
	switch {
	case j.pending.Began(id):
		found()
	case id <= j.newest:
		return []engine.Command{{Query: selectThere, Args: []any{id}, Row: func(scan engine.Scan) error {
			found()
			return scan(new(int64))
		}}}
	}
	return nil
}

// Began implements calls.Journal.
func (j *Journal) Began(id string) bool {
	_, sure := j.began[id]
	return sure
}

// Changed implements calls.Journal.
func (j *Journal) Changed(id string) { delete(j.began, id) }

// Keep implements calls.Journal.
func (j *Journal) Keep(t *engine.Tx, c *calls.Changes) (engine.Command, bool) {
	effects, fits := j.encoder.Encode(c)
	if !fits {
		return engine.Command{}, false
	}
	t.After(func() {
		j.pending.Add(c)
		j.begin(c)
	})
	return engine.Command{Query: insertRecord, Args: []any{effects}}, true
}

// Apply implements calls.Journal.
func (j *Journal) Apply(ctx context.Context, t *engine.Tx, c *calls.Changes) error {
	t.After(func() {
		for _, b := range c.Beginnings {
			j.newest = max(j.newest, b.ID)
		}
		j.begin(c)
	})
	return j.apply(ctx, t)
}

func (j *Journal) begin(c *calls.Changes) {
	if j.began == nil || len(j.began) > mostBegun {
		j.began = map[string]struct{}{}
	}
	for _, b := range c.Beginnings {
		j.began[b.ID] = struct{}{}
	}
}

// apply writes the pending changes into the tables, at most once in a transaction, and makes the transaction commit.
func (j *Journal) apply(ctx context.Context, t *engine.Tx) error {
	if j.applied == t || j.pending.Empty() {
		return nil
	}
	j.applied = t
	t.Commit()
	t.After(func() {
		for _, e := range j.pending.Begun {
			j.newest = max(j.newest, e.ID)
		}
		j.pending.Clear()
		j.applied = nil
	})
	err := t.Send(ctx, append(j.pending.changes().Statements(nil), engine.Command{Query: deleteRecords}))
	if err != nil && t.Conflict(err) {
		return fmt.Errorf("%w: %w", engine.ErrMisfit, err)
	}
	return err
}
