package schema

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/internal/nonces"
)

// nonceBatches is the migration that makes rows of many nonces of the table nonces, on SQLite alone.
const nonceBatches = 18

// mostCarried is how many nonces a row has that were carried over.
const mostCarried = 256

// carryNonces writes all that the table nonces holds to nonce_batches, and drops it.
func carryNonces(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "SELECT service, key_id, id, until FROM nonces ORDER BY until")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var all []byte // 16 bytes for each
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
		id = max(min(until, math.MaxInt64-int64(time.Second)), id+1) // less than a second after its end
		if _, err := tx.ExecContext(ctx, "INSERT INTO nonce_batches (id, until, digests) VALUES (?, ?, ?)",
			id, until, all[:n*nonces.Size]); err != nil {
			return err
		}
		untils, all = untils[n:], all[n*nonces.Size:]
	}
	_, err = tx.ExecContext(ctx, "DROP TABLE nonces")
	return err
}
