package schema

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/internal/nonces"
)

// nonceBatches is the migration that replaces the nonces table with nonce_batches. It runs only on SQLite.
const nonceBatches = 18

// mostCarried is the maximum number of nonces in a row that carryNonces writes.
const mostCarried = 256

// carryNonces copies the nonces table to nonce_batches, and drops it.
func carryNonces(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "SELECT service, key_id, id, until FROM nonces ORDER BY until")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var all []byte // digests, 16 bytes each
	var untils []int64
	for rows.Next() {
		var service, keyID, id string
		var until int64
		if err := rows.Scan(&service, &keyID, &id, &until); err != nil {
			return err
		}
		d := nonces.Of(service, keyID, id)
		all, untils = append(all, d[:]...), append(untils, until)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	for id := int64(math.MinInt64); len(untils) > 0; {
		n := min(mostCarried, len(untils))
		until := untils[n-1]
		id = max(min(until, math.MaxInt64-int64(time.Second)), id+1) // ids start from the expiry of the row
		if _, err := tx.ExecContext(ctx, "INSERT INTO nonce_batches (id, until, digests) VALUES (?, ?, ?)",
			id, until, all[:n*nonces.Size]); err != nil {
			return err
		}
		untils, all = untils[n:], all[n*nonces.Size:]
	}
	_, err = tx.ExecContext(ctx, "DROP TABLE nonces")
	return err
}
