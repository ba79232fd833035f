package upkeep

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// startChains records the first epoch of each service, and starts the chain of each account that has none, because a release without chains
// made all its entries. The first entry of such a chain carries the sums of the account.
func (u *Upkeep) startChains(ctx context.Context, db *sql.DB) error {
	for _, due := range []string{selectUnrecorded, selectUnchained} {
		found := false
		rows, err := db.QueryContext(ctx, due)
		if err == nil {
			err = engine.Drain(rows, func(scan engine.Scan) error { found = true; return scan(new(int64)) })
		}
		if err != nil || found {
			if err == nil {
				err = u.writeChains(ctx, db)
			}
			return err
		}
	}
	return nil
}

const (
	selectUnrecorded = "SELECT 1 FROM services s WHERE NOT EXISTS (SELECT 1 FROM epochs e WHERE e.service = s.id) LIMIT 1"
	selectUnchained  = "SELECT 1 FROM accounts WHERE lines = 0 LIMIT 1"
)

func (u *Upkeep) writeChains(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, u.db.Dialect().Rewrite(ledger.FirstEpochs), engine.Nanos(u.db.Local())); err != nil {
		return fmt.Errorf("recording the epochs of services: %w", err)
	}
	_, err := engine.Steps(engine.StepRows, func() (n int, err error) {
		t, err := db.BeginTx(ctx, nil)
		if err != nil {
			return 0, err
		}
		defer func() { _ = t.Rollback() }()
		if n, err = ledger.StartChains(ctx, t, u.db.Dialect().Rewrite, u.db.Local(), engine.StepRows); err != nil {
			return 0, err
		}
		return n, t.Commit()
	})
	if err != nil {
		return fmt.Errorf("starting the chains of accounts: %w", err)
	}
	return nil
}
