package engine

import (
	"context"
	"time"
)

// NextChange returns the next number of the feed of changes. The row stays locked until the transaction ends, so that the numbers
// become visible in the order of commits.
func (t *Tx) NextChange(ctx context.Context) (int64, error) {
	if _, err := t.Exec(ctx, "UPDATE sequences SET n = n + 1 WHERE name = 'changes'"); err != nil {
		return 0, err
	}
	var n int64
	_, err := t.Row(ctx, "SELECT n FROM sequences WHERE name = 'changes'", nil, &n)
	t.changed = true
	return n, err
}

// Newest reads the number of the last change, and the time.
func (db *DB) Newest(ctx context.Context) (int64, error) {
	if db.dialect.Clock != "" {
		return db.poll(ctx)
	}
	read, err := db.sequences(ctx, "changes")
	db.times(ctx)
	return read["changes"], err
}

// MarkRestored records that the state was set back to an earlier one.
func (t *Tx) MarkRestored(ctx context.Context) error {
	floor := Nanos(t.times.counted)
	if _, err := t.Exec(ctx, "UPDATE sequences SET n = ? WHERE name = 'restored'", floor); err != nil {
		return err
	}
	t.After(func() { t.w.db.floor.Store(floor) })
	return t.w.db.Restore(ctx, t)
}

// ReadFloor reads when the database was last set back to an earlier state.
func (db *DB) ReadFloor(ctx context.Context) error {
	read, err := db.sequences(ctx, "restored")
	if err == nil {
		db.floor.Store(read["restored"])
	}
	return err
}

// Floor returns when the state was last set back to an earlier one, as by a backup, on the clock on which limits are counted; the zero
// time: never.
func (db *DB) Floor() time.Time { return FromNanos(db.floor.Load()) }
