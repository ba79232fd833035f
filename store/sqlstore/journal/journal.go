// Package journal makes calls on SQLite durable as one row before the tables have their changes. Consecutive rows are merged, and written
// into the tables together; the result is the same as if each had been written by itself. In between the tables are unchanged, so
// whatever reads or changes them first has the pending changes written.
//
// The store works without this package: calls.New takes a nil Journal. docs/design/0006-journal.md has the reasons.
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

// memory is the writer's knowledge of the journal. Only the writer uses it, or the one operation that runs alone.
type memory struct {
	state   state
	pending PendingChanges // what the journal has and the tables do not
	applied *engine.Tx
	newest  string // no execution in the table has a higher id
	// began has the executions that this writer began and that no other operation has changed since.
	began map[string]struct{}
}

// state is whether the pending changes are known. They are as long as no other process has written and no transaction has failed, after
// which it is unknown whether it was committed.
type state int

const (
	unread state = iota
	known
)

// New returns the journal of a database.
func New(db *engine.DB) *Journal { return &Journal{db: db} }

// Bounds of the pending changes.
const (
	MostPending = 1024 // rows to be written

	mostRecords = 4 << 10  // of transactions that wrote little
	mostBegun   = 32 << 10 // executions known to be in progress
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

// Held returns how many rows and records are pending, and whether that is known. It is called in a transaction, or when there is none.
func (j *Journal) Held() (rows, records int, sure bool) {
	return j.pending.Size(), j.pending.Records, j.state == known
}

// Behind implements calls.Journal.
func (j *Journal) Behind() bool { return j.state == unread || !j.pending.Empty() }

// Pending implements calls.Journal.
func (j *Journal) Pending(ctx context.Context) (bool, error) {
	return j.db.One(ctx, selectRecord, nil, new(int64))
}

// Before implements calls.Journal: it reads the journal if it is unread, and writes it into the tables if those are read, or if it is
// time.
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
		{Query: selectRecords, Row: func(scan engine.Scan) error { return addRecord(&j.pending, scan) }},
		{Query: selectNewest, Row: func(scan engine.Scan) error { return scan(&j.newest) }},
	})
	if err == nil {
		j.state = known
	}
	return err
}

// addRecord adds a row of the journal.
func addRecord(p *PendingChanges, scan engine.Scan) error {
	var effects []byte
	if err := scan(&effects); err != nil {
		return err
	}
	r, err := Decode(effects)
	if err != nil {
		return fmt.Errorf("charges that are not yet in their tables: %w", err)
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

// apply writes the pending changes into the tables. The caller must then commit the transaction.
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
		j.pending, j.applied = PendingChanges{}, nil
	})
	err := t.Send(ctx, append(j.pending.changes().Statements(nil), engine.Command{Query: deleteRecords}))
	if err != nil && t.Conflict(err) {
		return fmt.Errorf("%w: %w", engine.ErrMisfit, err)
	}
	return err
}
