package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
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

// errWentBack means that a commit which this process has acknowledged is missing.
var errWentBack = errors.New("the database lacks what it has committed: it is a standby or a copy that did not have everything")

// addWitness returns the witness of a further writer; nil where the database is a file of this process.
func (s *Store) addWitness() *witness {
	if s.dialect.clock == "" {
		return nil
	}
	if s.process == "" {
		s.process = witnessPrefix + rand.Text()
	}
	w := &witness{name: fmt.Sprintf("%s:%d", s.process, len(s.witnesses))}
	s.witnesses = append(s.witnesses, w)
	return w
}

// readState returns the statement that reads the clock, the witness of the writer and when the database was last set back.
func (t *tx) readState(micros *int64) command {
	name, d := "", t.w.s.dialect
	if t.w.witness != nil {
		name = t.w.witness.name
	}
	return command{
		query: "SELECT (" + d.clock + "), COALESCE((SELECT n FROM sequences WHERE name = ?), 0), (SELECT n FROM sequences WHERE name = 'restored')",
		args:  []any{name},
		row:   func(scan scan) error { return scan(micros, &t.witnessed, &t.floor) },
	}
}

// verify compares what was read with what is acknowledged.
func (t *tx) verify() error {
	if w := t.w.witness; w != nil && t.witnessed < w.acked.Load() {
		return errWentBack
	}
	t.w.s.raiseFloor(t.floor)
	t.waits = t.floor <= t.w.s.verifiedFloor.Load() && !t.w.s.settled()
	return nil
}

// testify returns the statement that counts the transaction.
func (t *tx) testify() []command {
	if t.w.witness == nil {
		return nil
	}
	t.testified = true
	return []command{{query: upsertWitness, args: []any{t.w.witness.name, t.witnessed + 1, t.witnessed}, must: 1}}
}

// acknowledge records that a transaction was committed, before anybody learns of it.
func (t *tx) acknowledge() {
	if t.testified {
		t.w.witness.acked.Store(t.witnessed + 1)
	}
}

// raiseFloor takes over when the database was last set back, if another process did that since this one has read it.
func (s *Store) raiseFloor(at int64) {
	for known := s.floor.Load(); at > known; known = s.floor.Load() {
		if s.floor.CompareAndSwap(known, at) {
			s.noteSetBack(fromNanos(at), 0)
			return
		}
	}
}

func (s *Store) noteSetBack(at time.Time, missing int64) {
	for {
		last := s.lastSetBack.Load()
		next := &store.SetBack{At: at, Missing: missing}
		if last != nil {
			next.Missing += last.Missing
		}
		if s.lastSetBack.CompareAndSwap(last, next) {
			return
		}
	}
}

// acknowledged returns the witnesses of this process by name, with what is acknowledged.
func (s *Store) acknowledged() (acked map[string]int64, names []any) {
	acked = make(map[string]int64, len(s.witnesses))
	for _, w := range s.witnesses {
		if n := w.acked.Load(); n > 0 {
			acked[w.name] = n
			names = append(names, w.name)
		}
	}
	return acked, names
}

// selectSequences reads rows of the table sequences by their names; what is the expression beside them.
func selectSequences(what string, names int) string {
	return "SELECT name, n" + what + " FROM sequences WHERE name IN (?" + strings.Repeat(", ?", names-1) + ")"
}

// lacks returns how many of the acknowledged commits are missing, where found are the rows of the witnesses.
func lacks(acked, found map[string]int64) (missing int64) {
	for name, n := range acked {
		missing += max(0, n-found[name])
	}
	return missing
}

// missing returns how many commits the database lacks that this process has acknowledged.
func (t *tx) missing(ctx context.Context) (int64, error) {
	acked, names := t.w.s.acknowledged()
	if len(names) == 0 {
		return 0, nil
	}
	found := map[string]int64{}
	err := t.rows(ctx, selectSequences("", len(names)), names, func(scan scan) error {
		var name string
		var n int64
		err := scan(&name, &n)
		found[name] = n
		return err
	})
	return lacks(acked, found), err
}

// poll reads the number of the last change and the clock of the server, and looks whether a commit is missing.
func (s *Store) poll(ctx context.Context) (newest int64, err error) {
	for {
		acked, names := s.acknowledged()
		found := map[string]int64{}
		names = append(names, "changes", "restored")
		var micros int64
		asked, from := s.opts.Now(), s.elapsed()
		err := s.list(ctx, selectSequences(", ("+s.dialect.clock+")", len(names)), names, func(scan scan) error {
			var name string
			var n int64
			err := scan(&name, &n, &micros)
			found[name] = n
			return err
		})
		if err != nil {
			return 0, err
		}
		s.clock.set(asked, s.opts.Now(), time.UnixMicro(micros))
		s.seen(ctx, from, s.elapsed(), time.UnixMicro(micros).UTC())
		if lacks(acked, found) == 0 {
			s.raiseFloor(found["restored"])
			s.verifiedFloor.Store(found["restored"])
			return found["changes"], nil
		}
		if err := s.setBack(ctx); err != nil {
			return 0, unavailable(err)
		}
	}
}

// setBack treats a database that went back like a restored one: see MarkRestored. The first of all writers and processes marks it; the
// others find the mark.
func (s *Store) setBack(ctx context.Context) error {
	s.settingBack.Lock()
	defer s.settingBack.Unlock()
	w := &writer{s: s}
	defer w.drop()
	missing := int64(0)
	o := &op{run: func(ctx context.Context, t *tx) (err error) {
		if missing, err = t.missing(ctx); err != nil || missing == 0 {
			return err
		}
		var marked int64
		_, err = t.row(ctx, "SELECT n FROM sequences WHERE name = 'restored' FOR UPDATE", nil, &marked)
		if err != nil || marked > s.verifiedFloor.Load() {
			return err
		}
		return t.markRestored(ctx)
	}}
	t, err := w.try(ctx, []*op{o}, 1)
	if err = errors.Join(err, o.err); err != nil {
		return fmt.Errorf("%w: %w", errWentBack, err)
	}
	for _, f := range t.after {
		f()
	}
	if missing == 0 {
		return nil
	}
	s.noteSetBack(fromNanos(s.floor.Load()), missing)
	for _, w := range s.witnesses {
		w.acked.Store(0)
	}
	s.verifiedFloor.Store(s.floor.Load())
	s.changes.raise()
	if s.opts.SetBack != nil {
		s.opts.SetBack(missing)
	}
	return nil
}

// SetBack returns when the database was last found to lack what was acknowledged, since it was opened, by this process or another.
func (s *Store) SetBack() store.SetBack {
	if last := s.lastSetBack.Load(); last != nil {
		return *last
	}
	return store.SetBack{}
}

// keepWitnesses notes that this process is alive, and deletes the witnesses of those that ended long ago.
func (s *Store) keepWitnesses(ctx context.Context) error {
	if len(s.witnesses) == 0 {
		return nil
	}
	return s.aside(ctx, func(ctx context.Context, t *tx) error {
		if err := t.note(ctx, map[string]int64{s.process: nanos(t.now)}); err != nil {
			return err
		}
		var gone []string
		err := t.rows(ctx, "SELECT name FROM sequences WHERE name LIKE '"+witnessPrefix+"%' AND name NOT LIKE '"+witnessPrefix+"%:%' "+
			"AND n <= ? ORDER BY name LIMIT 100", []any{nanos(t.now.Add(-witnessKept))}, func(scan scan) error {
			var name string
			err := scan(&name)
			gone = append(gone, name)
			return err
		})
		for _, name := range gone {
			if err == nil {
				_, err = t.exec(ctx, "DELETE FROM sequences WHERE name = ? OR name LIKE ?", name, name+":%")
			}
		}
		return err
	})
}
