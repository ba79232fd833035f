package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uimgate/uimgate/store"
)

// Newest reads the number of the last change, and the clock.
func (db *DB) Newest(ctx context.Context) (int64, error) {
	if db.dialect.Clock != "" {
		return db.poll(ctx)
	}
	read, err := db.sequences(ctx, "changes")
	db.times(ctx)
	return read["changes"], err
}

// ServerChanged reports whether the database is on a different server or timeline than when it was last open or when this process opened
// it.
func (db *DB) ServerChanged() bool { return db.server.serverChanged.Load() }

// missing returns how many acknowledged commits of this process the database lacks.
func (t *Tx) missing(ctx context.Context) int64 {
	acked, names := t.w.db.acknowledged()
	if len(names) == 0 {
		return 0
	}
	found := map[string]int64{}
	t.each(ctx, selectSequences("", len(names)), names, numbers(found))
	return lacks(acked, found)
}

// poll reads the number of the last change and the clock of the server. If acknowledged commits are missing, it calls setBack and reads
// again.
func (db *DB) poll(ctx context.Context) (newest int64, err error) {
	for {
		acked, names := db.acknowledged()
		found := map[string]int64{}
		names = append(names, "changes")
		for _, name := range restoredNotes {
			names = append(names, name)
		}
		var micros int64
		sent, from := db.opts.Now(), db.clocks.elapsed()
		err := db.List(ctx, selectSequences(", ("+db.dialect.Clock+")", len(names)), names, numbers(found, &micros))
		if err != nil {
			return 0, err
		}
		db.clocks.clock.Set(sent, db.opts.Now(), time.UnixMicro(micros))
		db.seenClock(ctx, from, db.clocks.elapsed(), time.UnixMicro(micros).UTC())
		if lacks(acked, found) == 0 {
			db.raiseFloor(restoredFrom(found))
			db.commits.verifiedFloor.Store(found["restored"])
			return found["changes"], nil
		}
		if err := db.setBack(ctx); err != nil {
			return 0, Unavailable(err)
		}
	}
}

// setBack treats a database that lacks acknowledged commits like a restored one. The first writer or process that detects this marks the
// state as restored; the others find the mark.
func (db *DB) setBack(ctx context.Context) error {
	db.commits.settingBack.Lock()
	defer db.commits.settingBack.Unlock()
	missing := int64(0)
	err := db.Alone(ctx, func(ctx context.Context, t *Tx) error {
		if missing = t.missing(ctx); missing == 0 {
			return nil
		}
		var marked int64
		t.Find(ctx, "SELECT n FROM sequences WHERE name = 'restored' FOR UPDATE", nil, &marked)
		if marked > db.commits.verifiedFloor.Load() {
			return nil
		}
		return t.MarkRestored(ctx, store.DefaultRestoredLimits())
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errWentBack, err)
	}
	if missing == 0 {
		return nil
	}
	db.noteSetBack(db.Floor(), missing)
	for _, w := range db.commits.witnesses {
		w.acked.Store(0)
	}
	db.commits.verifiedFloor.Store(Nanos(db.Floor()))
	db.changes.raise()
	if db.opts.SetBack != nil {
		db.opts.SetBack(missing)
	}
	return nil
}

// SetBack returns when this process or another last detected that the database lacks acknowledged commits, and how many commits of this
// process were missing. It returns the zero value if this has not happened since the database was opened.
func (db *DB) SetBack() store.SetBack {
	if last := db.commits.lastSetBack.Load(); last != nil {
		return *last
	}
	return store.SetBack{}
}

// KeepWitnesses records that this process is alive, and deletes the witnesses of processes that ended long ago.
func (db *DB) KeepWitnesses(ctx context.Context) error {
	if len(db.commits.witnesses) == 0 {
		return nil
	}
	return db.Aside(ctx, func(ctx context.Context, t *Tx) error {
		t.RunAll(ctx, noting(map[string]int64{db.commits.process: Nanos(t.times.now)}))
		gone := slices.Collect(Values[string](ctx, t, "SELECT name FROM sequences WHERE name LIKE '"+witnessPrefix+"%' "+
			"AND name NOT LIKE '"+witnessPrefix+"%:%' "+
			"AND n <= ? ORDER BY name LIMIT 100", Nanos(t.times.now.Add(-witnessKept))))
		for _, name := range gone {
			t.Run(ctx, "DELETE FROM sequences WHERE name = ? OR name LIKE ?", name, name+":%")
		}
		return nil
	})
}
