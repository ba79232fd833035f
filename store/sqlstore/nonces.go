package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/internal/nonces"
)

// Where several processes share a database a used nonce is a row of the table nonces. Where one has it for itself, its writer knows in
// memory which nonces are used, and writes those of a transaction to one row of nonce_batches, from which they are read again.

// spent is what the only writer knows of used nonces: all that the database held at a version, and what it committed since then.
type spent struct {
	set     nonces.Set
	version int64 // see known
	read    bool
}

// mostNonces bounds the memory for nonces in use: 60 MB. Further ones are refused until some have ended.
const mostNonces = 4 << 20

// A takenNonce is one that an operation of the transaction uses.
type takenNonce struct {
	digest nonces.Digest
	until  int64
}

const (
	selectNonce  = "SELECT 1 FROM nonces WHERE service = ? AND key_id = ? AND id = ?"
	deleteNonces = "DELETE FROM nonces WHERE (service, key_id, id) IN " +
		"(SELECT service, key_id, id FROM nonces WHERE until <= ? ORDER BY until LIMIT 100 FOR UPDATE SKIP LOCKED)"

	selectBatches = "SELECT until, digests FROM nonce_batches WHERE id >= ?"
	// insertBatch takes the next id of the second that begins with its end.
	insertBatch = "INSERT INTO nonce_batches (id, until, digests) " +
		"SELECT COALESCE(MAX(id) + 1, ?), ?, ? FROM nonce_batches WHERE id BETWEEN ? AND ?"
	endedBatches  = "SELECT id, length(digests) FROM nonce_batches WHERE id <= ? AND until <= ? ORDER BY id LIMIT 100"
	deleteBatches = "DELETE FROM nonce_batches WHERE id <= ? AND until <= ?"
	batchSpan     = int64(time.Second) // in which the id of a row is, from its end on
)

var errManyNonces = errors.New("too many nonces are in use")

// digest is that of a nonce. The nonces of a service that had another id before keep that in their digests.
func (t *tx) digest(k nonceKey) nonces.Digest {
	service := k.service
	if as := t.w.s.noncesAs[service]; as != "" {
		service = as
	}
	return nonces.Of(service, k.keyID, k.id)
}

// readNonces reads which nonces have been used. They are read before the idempotency keys: each statement may see what was
// committed since the one before, and a message that another process has begun must be found under its key, as what is
// in progress, wherever its nonce is found used.
func (t *tx) readNonces(n rowSet) []command {
	if t.w.s.dialect.sole {
		return nil
	}
	list := make([]command, len(n.nonces))
	for i, k := range n.nonces {
		list[i] = command{query: selectNonce, args: []any{k.service, k.keyID, k.id}, row: func(scan scan) error {
			var one int64
			set(&t.nonces, k, true)
			return scan(&one)
		}}
	}
	return list
}

// readSpent reads which nonces have been used where that is not known: the connection is new, or another one has written.
func (t *tx) readSpent(ctx context.Context) error {
	s, version := &t.w.spent, t.w.known.version
	if s.read && s.version == version {
		return nil
	}
	*s = spent{version: version}
	err := t.rows(ctx, selectBatches, []any{int64(math.MinInt64)}, func(scan scan) error {
		var until int64
		var row sql.RawBytes
		if err := scan(&until, &row); err != nil {
			return err
		}
		return nonces.Each(row, func(d nonces.Digest) { s.set.Add(d, until) })
	})
	s.read = err == nil
	return err
}

// checkNonce returns store.ErrNonceUsed if a nonce is used, also by an operation that comes before in the transaction, and
// store.ErrUnavailable if there is no room for it.
func (t *tx) checkNonce(ctx context.Context, k nonceKey) error {
	if t.nonces[k] {
		return store.ErrNonceUsed
	}
	if !t.w.s.dialect.sole {
		return nil
	}
	if err := t.readSpent(ctx); err != nil {
		return err
	}
	used, digest := &t.w.spent.set, t.digest(k)
	if used.Has(digest) || t.ownStatements && slices.ContainsFunc(t.taken, func(n takenNonce) bool { return n.digest == digest }) {
		return store.ErrNonceUsed
	}
	if used.Len()+len(t.taken) >= t.w.s.nonceRoom {
		used.Drop(nanos(t.now))
	}
	if used.Len()+len(t.taken) >= t.w.s.nonceRoom {
		return unavailable(errManyNonces)
	}
	return nil
}

// takeNonce records a nonce that checkNonce permitted as used.
func (t *tx) takeNonce(ctx context.Context, k nonceKey, until time.Time) error {
	set(&t.nonces, k, true)
	if t.w.s.dialect.sole {
		t.taken = append(t.taken, takenNonce{t.digest(k), nanos(until)})
		return nil
	}
	return t.write(ctx, "INSERT INTO nonces (service, key_id, id, until) VALUES (?, ?, ?, ?)", k.service, k.keyID, k.id, nanos(until))
}

// useNonce records a nonce as used, and reports whether it was unused.
func (t *tx) useNonce(ctx context.Context, service string, key pat.KeyID, id string, until time.Time) (bool, error) {
	if !t.w.s.dialect.sole {
		n, err := t.exec(ctx, "INSERT INTO nonces (service, key_id, id, until) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			service, key, id, nanos(until))
		return n == 1, err
	}
	k := nonceKey{service, string(key), id}
	switch err := t.checkNonce(ctx, k); {
	case errors.Is(err, store.ErrNonceUsed):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, t.takeNonce(ctx, k, until)
}

// writeNonces returns the statement that records the nonces which the operations of the transaction use, as one row that ends with the
// last of them. They are used once that is committed.
func (t *tx) writeNonces() []command {
	if len(t.taken) == 0 {
		return nil
	}
	row, until := make([]byte, 0, len(t.taken)*nonces.Size), int64(math.MinInt64)
	for _, n := range t.taken {
		row, until = append(row, n.digest[:]...), max(until, n.until)
	}
	from := min(until, math.MaxInt64-batchSpan)
	t.after = append(t.after, func() {
		for _, n := range t.taken {
			t.w.spent.set.Add(n.digest, n.until)
		}
	})
	return []command{{query: insertBatch, args: []any{from, until, row, from, from + batchSpan - 2}}}
}

// purgeNonces deletes nonces that have ended, and returns how many.
func (s *Store) purgeNonces(ctx context.Context) (int, error) {
	if !s.dialect.sole {
		return s.steps(ctx, s.aside, func(ctx context.Context, t *tx) (int, error) {
			n, err := t.exec(ctx, deleteNonces, nanos(t.now))
			return int(n), err
		})
	}
	return s.steps(ctx, s.aside, func(ctx context.Context, t *tx) (int, error) {
		now, n, last := nanos(t.now), 0, int64(0)
		t.after = append(t.after, func() { t.w.spent.set.Drop(now) })
		err := t.rows(ctx, endedBatches, []any{now + batchSpan, now}, func(scan scan) error {
			var size int
			err := scan(&last, &size)
			n += size / nonces.Size
			return err
		})
		if err != nil || n == 0 {
			return 0, err
		}
		_, err = t.exec(ctx, deleteBatches, last, now)
		return n, err
	})
}
