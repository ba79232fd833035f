package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/store"
)

// errServerChanged means that the process does not admit calls yet; see serverChangePause.
var errServerChanged = errors.New("the database has moved to another server: calls are refused until all processes have had " +
	"time to check that no commits are missing")

// settled reports whether all processes have had time to check the server since it last changed.
func (db *DB) settled() bool {
	at := db.server.serverChangedAt.Load()
	return at == 0 || db.clocks.elapsed()-time.Duration(at) >= serverChangePause
}

const (
	witnessPrefix = "witness:"
	witnessKept   = 90 * 24 * time.Hour // after its process has ended
	upsertWitness = "INSERT INTO sequences (name, n) VALUES (?, ?) " +
		"ON CONFLICT (name) DO UPDATE SET n = excluded.n WHERE sequences.n = ?"
)

// errWentBack means that the database lacks a commit that it acknowledged to this process.
var errWentBack = errors.New("the database lacks commits that it has acknowledged: it is a standby or a copy that did not receive all of " +
	"them")

// addWitness adds a witness for a new writer. It returns nil if the database is a file.
func (db *DB) addWitness() *witness {
	if db.dialect.Clock == "" {
		return nil
	}
	if db.commits.process == "" {
		db.commits.process = witnessPrefix + rand.Text()
	}
	w := &witness{name: fmt.Sprintf("%s:%d", db.commits.process, len(db.commits.witnesses))}
	db.commits.witnesses = append(db.commits.witnesses, w)
	return w
}

// readState returns the statement that reads the clock, the witness of the writer and the time at which the database was last restored.
func (t *Tx) readState(micros *int64) Command {
	name, d := "", t.w.db.dialect
	if t.w.witness != nil {
		name = t.w.witness.name
	}
	return Command{
		Query: "SELECT (" + d.Clock + "), COALESCE((SELECT n FROM sequences WHERE name = ?), 0), " +
			"(SELECT n FROM sequences WHERE name = 'restored')",
		Args: []any{name},
		Row:  func(scan Scan) error { return scan(micros, &t.seen.witnessed, &t.seen.floor) },
	}
}

// ServerChanged returns an error if the transaction must not admit calls because the database has just moved to another server.
func (t *Tx) ServerChanged() error {
	if t.seen.serverChanged {
		return Unavailable(errServerChanged)
	}
	return nil
}

// verify returns errWentBack if the witness is lower than the value that the process has acknowledged. Otherwise it records the values that
// the transaction has read about restores and the server.
func (t *Tx) verify(ctx context.Context) error {
	if w := t.w.witness; w != nil && t.seen.witnessed < w.acked.Load() {
		return errWentBack
	}
	if err := t.raiseFloor(ctx); err != nil {
		return err
	}
	t.seen.serverChanged = t.seen.floor <= t.w.db.commits.verifiedFloor.Load() && !t.w.db.settled()
	return nil
}

// testify returns the statement that increments the witness of the writer.
func (t *Tx) testify() []Command {
	if t.w.witness == nil {
		return nil
	}
	t.seen.testified = true
	return []Command{{Query: upsertWitness, Args: []any{t.w.witness.name, t.seen.witnessed + 1, t.seen.witnessed}, Must: 1}}
}

// acknowledge records that a transaction was committed, before any caller receives a result.
func (t *Tx) acknowledge() {
	if t.seen.testified {
		t.w.witness.acked.Store(t.seen.witnessed + 1)
	}
}

func (db *DB) noteSetBack(at time.Time, missing int64) {
	for {
		last := db.commits.lastSetBack.Load()
		next := &store.SetBack{At: at, Missing: missing}
		if last != nil {
			next.Missing += last.Missing
		}
		if db.commits.lastSetBack.CompareAndSwap(last, next) {
			return
		}
	}
}

// acknowledged returns the witnesses of this process by name, with the values that it has acknowledged.
func (db *DB) acknowledged() (acked map[string]int64, names []any) {
	acked = make(map[string]int64, len(db.commits.witnesses))
	for _, w := range db.commits.witnesses {
		if n := w.acked.Load(); n > 0 {
			acked[w.name] = n
			names = append(names, w.name)
		}
	}
	return acked, names
}

// lacks returns how many of the acknowledged commits are missing. found contains the rows of the witnesses.
func lacks(acked, found map[string]int64) (missing int64) {
	for name, n := range acked {
		missing += max(0, n-found[name])
	}
	return missing
}
