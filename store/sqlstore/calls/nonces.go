package calls

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/nonces"
)

const (
	selectNonce  = "SELECT 1 FROM nonces WHERE service = ? AND key_id = ? AND id = ?"
	insertNonce  = "INSERT INTO nonces (service, key_id, id, until) VALUES (?, ?, ?, ?)"
	deleteNonces = "DELETE FROM nonces WHERE (service, key_id, id) IN " +
		"(SELECT service, key_id, id FROM nonces WHERE until <= ? ORDER BY until LIMIT 100 FOR UPDATE SKIP LOCKED)"

	selectBatches = "SELECT until, digests FROM nonce_batches WHERE id >= ?"
	// insertBatch uses the next free id, starting from the time at which the row expires.
	insertBatch = "INSERT INTO nonce_batches (id, until, digests) " +
		"SELECT COALESCE(MAX(id) + 1, ?), ?, ? FROM nonce_batches WHERE id BETWEEN ? AND ?"
	endedBatches  = "SELECT id, length(digests) FROM nonce_batches WHERE id <= ? AND until <= ? ORDER BY id LIMIT 100"
	deleteBatches = "DELETE FROM nonce_batches WHERE id <= ? AND until <= ?"
	batchSpan     = int64(time.Second) // the id of a row exceeds its expiry by less than this
)

// ErrManyNonces means that the number of nonces in use has reached Bounds.Nonces.
var ErrManyNonces = errors.New("too many nonces are in use")

// readNonces returns the statements that read which nonces have been used. It returns none for an Exclusive database, whose nonces are in
// memory.
func (w *work) readNonces() []engine.Command {
	if w.calls.db.Sharing() == engine.Exclusive {
		return nil
	}
	list := make([]engine.Command, len(w.need.nonces))
	for i, k := range w.need.nonces {
		list[i] = engine.Command{Query: selectNonce, Args: []any{k.service, k.keyID, k.id}, Row: func(scan engine.Scan) error {
			var one int64
			w.nonces[k] = true
			return scan(&one)
		}}
	}
	return list
}

// checkNonce returns store.ErrNonceUsed if a nonce was used before, even by an earlier operation of the transaction, and an error that
// wraps store.ErrUnavailable if too many nonces are in use.
func (w *work) checkNonce(ctx context.Context, k nonceKey) error {
	if w.nonces[k] {
		return store.ErrNonceUsed
	}
	if w.calls.db.Sharing() == engine.Shared {
		return nil
	}
	return w.calls.nonces.check(ctx, w.t, w.calls.digest(k), w.calls.Bounds.Nonces)
}

// takeNonce records a nonce as used. checkNonce must have permitted it.
func (w *work) takeNonce(ctx context.Context, k nonceKey, until time.Time) error {
	w.nonces[k] = true
	if w.calls.db.Sharing() == engine.Shared {
		return w.write(ctx, insertNonce, k.service, k.keyID, k.id, engine.Nanos(until))
	}
	w.calls.nonces.take(w.calls.digest(k), engine.Nanos(until))
	return nil
}

// UseNonce records a nonce as used in the transaction of an operation that is not a call, and reports whether it was unused.
func (c *Calls) UseNonce(ctx context.Context, t *engine.Tx, service string, key keys.ID, id string, until time.Time) (bool, error) {
	if c.db.Sharing() == engine.Shared {
		return t.Run(ctx, insertNonce+" ON CONFLICT DO NOTHING", service, key, id, engine.Nanos(until)) == 1, nil
	}
	digest := c.digest(nonceKey{service, string(key), id})
	switch err := c.nonces.check(ctx, t, digest, c.Bounds.Nonces); {
	case errors.Is(err, store.ErrNonceUsed):
		return false, nil
	case err != nil:
		return false, err
	}
	earlier := len(c.nonces.taken)
	c.nonces.take(digest, engine.Nanos(until))
	t.Undo(func() { c.nonces.taken = c.nonces.taken[:earlier] })
	t.After(c.nonces.commit)
	t.RunAll(ctx, []engine.Command{batchRow(c.nonces.taken[earlier:])})
	return true, nil
}

// digest returns the digest of a nonce. If the service had another id when it first recorded nonces, the digest contains that id.
func (c *Calls) digest(k nonceKey) nonces.Digest {
	service := k.service
	if as := c.noncesAs[service]; as != "" {
		service = as
	}
	return nonces.Of(service, k.keyID, k.id)
}

func (n *usedNonces) check(ctx context.Context, t *engine.Tx, digest nonces.Digest, most int) error {
	if err := n.readAll(ctx, t); err != nil {
		return err
	}
	if n.set.Has(digest) || slices.ContainsFunc(n.taken, func(o takenNonce) bool { return o.digest == digest }) {
		return store.ErrNonceUsed
	}
	if n.set.Len()+len(n.taken) >= most {
		n.set.Drop(engine.Nanos(t.Now()))
	}
	if n.set.Len()+len(n.taken) >= most {
		return engine.Unavailable(ErrManyNonces)
	}
	return nil
}

// readAll reads which nonces have been used, unless the set is already in memory. It is not in memory on a new connection, or after another
// connection has written.
func (n *usedNonces) readAll(ctx context.Context, t *engine.Tx) error {
	if n.read {
		return nil
	}
	n.set = nonces.Set{}
	err := t.Rows(ctx, selectBatches, []any{int64(math.MinInt64)}, func(scan engine.Scan) error {
		var until int64
		var row sql.RawBytes
		if err := scan(&until, &row); err != nil {
			return err
		}
		return nonces.Each(row, func(d nonces.Digest) { n.set.Add(d, until) })
	})
	n.read = err == nil
	return err
}

func (n *usedNonces) take(digest nonces.Digest, until int64) {
	n.taken = append(n.taken, takenNonce{digest, until})
}

// write returns the statement that records the nonces used by the calls of a transaction.
func (n *usedNonces) write(t *engine.Tx) []engine.Command {
	if len(n.taken) == 0 {
		return nil
	}
	t.After(n.commit)
	return []engine.Command{batchRow(n.taken)}
}

// commit adds the nonces of a committed transaction to the set.
func (n *usedNonces) commit() {
	for _, one := range n.taken {
		n.set.Add(one.digest, one.until)
	}
	n.taken = nil
}

// batchRow returns the statement that records nonces as one row, which expires with the last of them.
func batchRow(taken []takenNonce) engine.Command {
	row, until := make([]byte, 0, len(taken)*nonces.Size), int64(math.MinInt64)
	for _, n := range taken {
		row, until = append(row, n.digest[:]...), max(until, n.until)
	}
	from := min(until, math.MaxInt64-batchSpan)
	return engine.Command{Query: insertBatch, Args: []any{from, until, row, from, from + batchSpan - 2}}
}

// NoncesHeld returns the number of nonces in memory. It must be called in a transaction.
func (c *Calls) NoncesHeld() int { return c.nonces.set.Len() }

// PurgeNonces deletes some expired nonces, in a transaction of Aside, and returns their number.
func (c *Calls) PurgeNonces(ctx context.Context, t *engine.Tx) (int, error) {
	now := engine.Nanos(t.Now())
	if c.db.Sharing() == engine.Shared {
		return int(t.Run(ctx, deleteNonces, now)), nil
	}
	n, last := 0, int64(0)
	t.After(func() { c.nonces.set.Drop(now) })
	for row := range t.Query(ctx, endedBatches, now+batchSpan, now) {
		var size int
		row(&last, &size)
		n += size / nonces.Size
	}
	if n > 0 {
		t.Run(ctx, deleteBatches, last, now)
	}
	return n, nil
}
