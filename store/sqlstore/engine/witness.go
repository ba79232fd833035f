package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/store"
)

// A witness is a row of the table sequences that every transaction of one writer counts up. The server of a database may be
// replaced by a standby that did not receive everything, or by a copy: then the row is missing, or it is lower than the process
// has acknowledged. Each transaction reads it before it does anything, and each poll of Changes reads those of all writers.
type witness struct {
	name  string
	acked atomic.Int64 // the least that the row has, unless the database went back
}

const (
	witnessPrefix = "witness:"
	witnessKept   = 90 * 24 * time.Hour // after its process has ended
	upsertWitness = "INSERT INTO sequences (name, n) VALUES (?, ?) " +
		"ON CONFLICT (name) DO UPDATE SET n = excluded.n WHERE sequences.n = ?"
)

// commits is what a process knows of the commits that it has acknowledged.
type commits struct {
	process       string // in the names of its witnesses
	witnesses     []*witness
	settingBack   sync.Mutex
	lastSetBack   atomic.Pointer[store.SetBack]
	verifiedFloor atomic.Int64 // the floor when all witnesses were last as they should be
}

// seen is what a transaction has read of its witness, and of restores.
type seen struct {
	witnessed int64
	testified bool  // it is counted up
	floor     int64 // when the database was last set back
	moved     bool  // to another server: it admits no calls yet; see movedPause
}

// errWentBack means that a commit which this process has acknowledged is missing.
var errWentBack = errors.New("the database lacks what it has committed: it is a standby or a copy that did not have everything")

// addWitness returns the witness of a further writer; nil where the database is a file of this process.
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

// readState returns the statement that reads the clock, the witness of the writer and when the database was last set back.
func (t *Tx) readState(micros *int64) Command {
	name, d := "", t.w.db.dialect
	if t.w.witness != nil {
		name = t.w.witness.name
	}
	return Command{
		Query: "SELECT (" + d.Clock + "), COALESCE((SELECT n FROM sequences WHERE name = ?), 0), (SELECT n FROM sequences WHERE name = 'restored')",
		Args:  []any{name},
		Row:   func(scan Scan) error { return scan(micros, &t.seen.witnessed, &t.seen.floor) },
	}
}

// Moved returns an error where the transaction admits no calls, because the database has just moved to another server.
func (t *Tx) Moved() error {
	if t.seen.moved {
		return Unavailable(errMoved)
	}
	return nil
}

// verify compares what was read with what is acknowledged.
func (t *Tx) verify() error {
	if w := t.w.witness; w != nil && t.seen.witnessed < w.acked.Load() {
		return errWentBack
	}
	t.w.db.raiseFloor(t.seen.floor)
	t.seen.moved = t.seen.floor <= t.w.db.commits.verifiedFloor.Load() && !t.w.db.settled()
	return nil
}

// testify returns the statement that counts the transaction.
func (t *Tx) testify() []Command {
	if t.w.witness == nil {
		return nil
	}
	t.seen.testified = true
	return []Command{{Query: upsertWitness, Args: []any{t.w.witness.name, t.seen.witnessed + 1, t.seen.witnessed}, Must: 1}}
}

// acknowledge records that a transaction was committed, before anybody learns of it.
func (t *Tx) acknowledge() {
	if t.seen.testified {
		t.w.witness.acked.Store(t.seen.witnessed + 1)
	}
}

// raiseFloor takes over when the database was last set back, if another process did that since this one has read it.
func (db *DB) raiseFloor(at int64) {
	for known := db.floor.Load(); at > known; known = db.floor.Load() {
		if db.floor.CompareAndSwap(known, at) {
			db.noteSetBack(FromNanos(at), 0)
			return
		}
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

// acknowledged returns the witnesses of this process by name, with what is acknowledged.
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

// lacks returns how many of the acknowledged commits are missing, where found are the rows of the witnesses.
func lacks(acked, found map[string]int64) (missing int64) {
	for name, n := range acked {
		missing += max(0, n-found[name])
	}
	return missing
}

// missing returns how many commits the database lacks that this process has acknowledged.
func (t *Tx) missing(ctx context.Context) (int64, error) {
	acked, names := t.w.db.acknowledged()
	if len(names) == 0 {
		return 0, nil
	}
	found := map[string]int64{}
	err := t.Rows(ctx, selectSequences("", len(names)), names, func(scan Scan) error {
		var name string
		var n int64
		err := scan(&name, &n)
		found[name] = n
		return err
	})
	return lacks(acked, found), err
}

// poll reads the number of the last change and the clock of the server, and looks whether a commit is missing.
func (db *DB) poll(ctx context.Context) (newest int64, err error) {
	for {
		acked, names := db.acknowledged()
		found := map[string]int64{}
		names = append(names, "changes", "restored")
		var micros int64
		asked, from := db.opts.Now(), db.clocks.elapsed()
		err := db.List(ctx, selectSequences(", ("+db.dialect.Clock+")", len(names)), names, func(scan Scan) error {
			var name string
			var n int64
			err := scan(&name, &n, &micros)
			found[name] = n
			return err
		})
		if err != nil {
			return 0, err
		}
		db.clocks.clock.set(asked, db.opts.Now(), time.UnixMicro(micros))
		db.seenClock(ctx, from, db.clocks.elapsed(), time.UnixMicro(micros).UTC())
		if lacks(acked, found) == 0 {
			db.raiseFloor(found["restored"])
			db.commits.verifiedFloor.Store(found["restored"])
			return found["changes"], nil
		}
		if err := db.setBack(ctx); err != nil {
			return 0, Unavailable(err)
		}
	}
}

// setBack treats a database that went back like a restored one. The first of all writers and processes marks it; the others find the
// mark.
func (db *DB) setBack(ctx context.Context) error {
	db.commits.settingBack.Lock()
	defer db.commits.settingBack.Unlock()
	missing := int64(0)
	err := db.Alone(ctx, func(ctx context.Context, t *Tx) (err error) {
		if missing, err = t.missing(ctx); err != nil || missing == 0 {
			return err
		}
		var marked int64
		_, err = t.Row(ctx, "SELECT n FROM sequences WHERE name = 'restored' FOR UPDATE", nil, &marked)
		if err != nil || marked > db.commits.verifiedFloor.Load() {
			return err
		}
		return t.MarkRestored(ctx)
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errWentBack, err)
	}
	if missing == 0 {
		return nil
	}
	db.noteSetBack(FromNanos(db.floor.Load()), missing)
	for _, w := range db.commits.witnesses {
		w.acked.Store(0)
	}
	db.commits.verifiedFloor.Store(db.floor.Load())
	db.changes.raise()
	if db.opts.SetBack != nil {
		db.opts.SetBack(missing)
	}
	return nil
}

// SetBack returns when the database was last found to lack what was acknowledged, since it was opened, by this process or another.
func (db *DB) SetBack() store.SetBack {
	if last := db.commits.lastSetBack.Load(); last != nil {
		return *last
	}
	return store.SetBack{}
}

// KeepWitnesses notes that this process is alive, and deletes the witnesses of those that ended long ago.
func (db *DB) KeepWitnesses(ctx context.Context) error {
	if len(db.commits.witnesses) == 0 {
		return nil
	}
	return db.Aside(ctx, func(ctx context.Context, t *Tx) error {
		if err := t.Note(ctx, map[string]int64{db.commits.process: Nanos(t.times.now)}); err != nil {
			return err
		}
		var gone []string
		err := t.Rows(ctx, "SELECT name FROM sequences WHERE name LIKE '"+witnessPrefix+"%' AND name NOT LIKE '"+witnessPrefix+"%:%' "+
			"AND n <= ? ORDER BY name LIMIT 100", []any{Nanos(t.times.now.Add(-witnessKept))}, func(scan Scan) error {
			var name string
			err := scan(&name)
			gone = append(gone, name)
			return err
		})
		for _, name := range gone {
			if err == nil {
				_, err = t.Exec(ctx, "DELETE FROM sequences WHERE name = ? OR name LIKE ?", name, name+":%")
			}
		}
		return err
	})
}
