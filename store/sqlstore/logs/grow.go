package logs

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const (
	advance    = "UPDATE sequences SET n = ? WHERE name = ? AND n = ?"
	insertHead = `INSERT INTO log_heads (service, epoch, size, seq, root, checkpoint, kid, at, cosigned_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, epoch) DO NOTHING`
	insertEpoch = `INSERT INTO epochs (service, epoch, issuer, began_at, first_seq) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (service, epoch) DO NOTHING`
	updateHead = `UPDATE log_heads SET size = ?, seq = ?, root = ?, checkpoint = ?, kid = ?, at = ? WHERE service = ? AND epoch = ? AND size = ?`
	writeTile  = `INSERT INTO log_tiles (service, epoch, level, n, first_seq, hashes) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, epoch, level, n) DO UPDATE SET hashes = excluded.hashes`
	insertEntry = `INSERT INTO log_entries (seq, service, epoch, purpose, kid, receipt, leaf) VALUES (?, ?, ?, ?, ?, ?, ?)`
	nextEntry   = `INSERT INTO log_entries (seq, service, epoch, purpose, kid, receipt, leaf) VALUES ({ledger}, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, purpose, kid) WHERE kid <> '' DO NOTHING`
	updateCosigned = `UPDATE log_heads SET checkpoint = ?, cosigned_at = ? WHERE service = ? AND epoch = ? AND size = ?`
	takeLease      = `INSERT INTO log_lease (name, holder, held_until) VALUES ('sequencer', ?, ?)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
		WHERE log_lease.held_until < ? OR log_lease.holder = excluded.holder`
	endLease = "DELETE FROM log_lease WHERE name = 'sequencer' AND holder = ?"
)

// Grow appends to logs, in one transaction, and sets the ledger number up to which all lines are in logs. If this number was not equal to
// from, or if a log does not have the size that its change names, Grow changes nothing and returns store.ErrLogMoved.
func (l *Logs) Grow(ctx context.Context, from, to int64, changes []store.LogChange) error {
	return l.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		if t.Run(ctx, advance, to, logged, from) == 0 {
			return store.ErrLogMoved
		}
		var list []engine.Command
		for _, c := range changes {
			if !setHead(ctx, t, c) {
				return store.ErrLogMoved
			}
			for _, tile := range c.Tiles {
				list = append(list, engine.Command{Query: writeTile, Args: []any{
					c.Head.Service, c.Head.Epoch, tile.Level, tile.N, tile.FirstSeq, tile.Hashes,
				}})
			}
			for _, e := range c.Entries {
				list = append(list, engine.Command{Query: insertEntry, Args: []any{
					e.Seq, e.Service, e.Epoch, e.Purpose, e.KeyID, e.Receipt, e.Leaf[:],
				}})
			}
		}
		if len(list) == 0 {
			return nil
		}
		return t.Send(ctx, list)
	})
}

// setHead writes the head of a log, and reports whether the log was as the change requires.
func setHead(ctx context.Context, t *engine.Tx, c store.LogChange) bool {
	h := c.Head
	if c.Before == 0 {
		// A service that no configuration has recorded also needs an epoch.
		t.Run(ctx, insertEpoch, h.Service, h.Epoch, h.Issuer, engine.Nanos(t.Now()), h.FirstSeq)
		return t.Run(ctx, insertHead, h.Service, h.Epoch, h.Size, h.Seq, h.Root[:], string(h.Checkpoint), h.KeyID, engine.Nanos(h.At),
			engine.Nanos(h.CosignedAt)) > 0
	}
	return t.Run(ctx, updateHead, h.Size, h.Seq, h.Root[:], string(h.Checkpoint), h.KeyID, engine.Nanos(h.At),
		h.Service, h.Epoch, c.Before) > 0
}

// AddLogEntry adds an entry that introduces a key, with the next ledger number. It does nothing if the key was introduced before. Grow adds
// the entry to the log.
func (l *Logs) AddLogEntry(ctx context.Context, e store.LogEntry) error {
	return l.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error {
		t.Run(ctx, nextEntry, e.Service, e.Epoch, e.Purpose, e.KeyID, e.Receipt, e.Leaf[:])
		return nil
	})
}

// SetCosigned adds cosignatures to the checkpoint of a log, unless the log has grown.
func (l *Logs) SetCosigned(ctx context.Context, h store.LogHead) error {
	_, err := l.db.Run(ctx, updateCosigned, string(h.Checkpoint), engine.Nanos(h.CosignedAt), h.Service, h.Epoch, h.Size)
	return err
}

// TakeLease makes a process the only one that appends to the logs for the given time, and reports whether it succeeded. Another process
// can take the lease only after that time or after EndLease.
func (l *Logs) TakeLease(ctx context.Context, holder string, lasting time.Duration) (took bool, err error) {
	err = l.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		now := t.Now()
		took = t.Run(ctx, takeLease, holder, engine.Nanos(now.Add(lasting)), engine.Nanos(now)) > 0
		return nil
	})
	return took && err == nil, err
}

// EndLease lets another process take the lease at once.
func (l *Logs) EndLease(ctx context.Context, holder string) error {
	_, err := l.db.Run(ctx, endLease, holder)
	return err
}
