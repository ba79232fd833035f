package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
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

// Note leaves rows of the table sequences to later processes. They are written at the next reading of a clock, and at the latest by Close.
func (db *DB) Note(rows map[string]int64) { db.notes.set(rows) }

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
func (db *DB) writeNotes(ctx context.Context) {
	if !db.notes.claim() {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if !db.Go(func() {
		rows := db.notes.rows()
		if err := db.Aside(ctx, func(ctx context.Context, t *Tx) error { return t.Note(ctx, rows) }); err != nil {
			rows = nil
		}
		db.notes.done(rows)
	}) {
		db.notes.done(nil)
	}
}

// writeLastNotes writes what is pending when no writer is at work any more. The pool may have connections that ended when the server
// restarted, so it is tried once on each, and on a new one: a note may be written twice.
func (db *DB) writeLastNotes(ctx context.Context) error {
	rows := db.notes.rows()
	if len(rows) == 0 {
		return nil
	}
	for tries := db.write.Stats().OpenConnections; ; tries-- {
		err := db.alone(ctx, aside, func(ctx context.Context, t *Tx) error { return t.Note(ctx, rows) })
		if tries == 0 || !db.dialect.Lost(err) {
			return err
		}
	}
}

// Note writes rows of the table sequences, in one order: several processes write the same ones.
func (t *Tx) Note(ctx context.Context, rows map[string]int64) error {
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		const write = "INSERT INTO sequences (name, n) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET n = excluded.n"
		if _, err := t.Exec(ctx, write, name, rows[name]); err != nil {
			return err
		}
	}
	return nil
}

// sequences reads rows of the table sequences.
func (db *DB) sequences(ctx context.Context, names ...string) (map[string]int64, error) {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	found := map[string]int64{}
	err := db.List(ctx, selectSequences("", len(names)), args, func(scan Scan) error {
		var name string
		var n int64
		err := scan(&name, &n)
		found[name] = n
		return err
	})
	return found, err
}

// selectSequences reads rows of the table sequences by their names; what is the expression beside them.
func selectSequences(what string, names int) string {
	return "SELECT name, n" + what + " FROM sequences WHERE name IN (?" + strings.Repeat(", ?", names-1) + ")"
}
