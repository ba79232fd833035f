package sqlstore

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Notes are rows of the table sequences by which a process leaves to later ones what it saw of the clocks. A note is pending
// until the database has it: a write that fails is repeated at the next reading of a clock, and when the store is closed.
type notes struct {
	mu      sync.Mutex
	pending map[string]int64
	writing bool
}

// set changes rows that are not yet written.
func (n *notes) set(rows map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pending == nil {
		n.pending = map[string]int64{}
	}
	maps.Copy(n.pending, rows)
}

// claim reports whether the caller has to write the pending rows; then it calls done.
func (n *notes) claim() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writing || len(n.pending) == 0 {
		return false
	}
	n.writing = true
	return true
}

func (n *notes) rows() map[string]int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.pending)
}

// done forgets the rows that were written, unless they changed meanwhile.
func (n *notes) done(written map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writing = false
	for name, v := range written {
		if n.pending[name] == v {
			delete(n.pending, name)
		}
	}
}

// writeNotes starts to write what is pending. What fails stays pending.
func (s *Store) writeNotes(ctx context.Context) {
	if !s.notes.claim() {
		return
	}
	s.closing.RLock()
	defer s.closing.RUnlock()
	if s.closed || len(s.lanes) == 0 {
		s.notes.done(nil)
		return
	}
	ctx = context.WithoutCancel(ctx)
	s.work.Go(func() {
		rows := s.notes.rows()
		if err := s.aside(ctx, func(ctx context.Context, t *tx) error { return t.note(ctx, rows) }); err != nil {
			rows = nil
		}
		s.notes.done(rows)
	})
}

// writeLastNotes writes what is pending when no writer is at work any more. The pool may have connections that ended when the server
// restarted, so it is tried once on each, and on a new one: a note may be written twice.
func (s *Store) writeLastNotes(ctx context.Context) error {
	rows := s.notes.rows()
	if len(rows) == 0 {
		return nil
	}
	w := &writer{s: s}
	defer w.drop()
	write := func(ctx context.Context, t *tx) error { return t.note(ctx, rows) }
	for tries := s.write.Stats().OpenConnections; ; tries-- {
		_, err := w.try(ctx, []*op{{aside: true, run: write}}, 1)
		if tries == 0 || !s.dialect.lost(err) {
			return err
		}
	}
}

// note writes rows of the table sequences, in one order: several processes write the same ones.
func (t *tx) note(ctx context.Context, rows map[string]int64) error {
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		const write = "INSERT INTO sequences (name, n) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET n = excluded.n"
		if _, err := t.exec(ctx, write, name, rows[name]); err != nil {
			return err
		}
	}
	return nil
}
