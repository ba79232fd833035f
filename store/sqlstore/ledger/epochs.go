package ledger

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// An Epoch is the log to which new entries of a service belong.
type Epoch struct {
	Number int64
	Issuer string
}

// Epochs are the present epochs of all services, as this process read them last. They are safe for concurrent use.
type Epochs struct {
	current atomic.Pointer[map[string]Epoch]
}

// Of returns the present epoch of a service. A service that is not recorded is in its first epoch, and its id is its issuer.
func (e *Epochs) Of(service string) Epoch {
	if known := e.current.Load(); known != nil {
		if epoch, ok := (*known)[service]; ok {
			return epoch
		}
	}
	return Epoch{Issuer: service}
}

const selectEpochs = "SELECT service, epoch, issuer FROM epochs ORDER BY service, epoch"

// Read reads the epochs of all services.
func (e *Epochs) Read(ctx context.Context, db *engine.DB) error {
	found := map[string]Epoch{}
	err := db.List(ctx, selectEpochs, nil, func(scan engine.Scan) error {
		var service string
		var e Epoch
		err := scan(&service, &e.Number, &e.Issuer)
		found[service] = e
		return err
	})
	if err == nil {
		e.current.Store(&found)
	}
	return err
}

// FirstEpochs records the first epoch of each service that has none.
const FirstEpochs = `INSERT INTO epochs (service, epoch, issuer, began_at, first_seq) SELECT s.id, 0,
	CASE WHEN s.issuer = '' THEN s.id ELSE s.issuer END, CAST(? AS BIGINT), 0
	FROM services s WHERE NOT EXISTS (SELECT 1 FROM epochs e WHERE e.service = s.id) ON CONFLICT (service, epoch) DO NOTHING`

// NextEpoch returns the statements that begin another epoch of a service: from then on, its entries belong to another log. The first entry
// of the epoch gets the next ledger number.
func NextEpoch(service, issuer string, at int64) []engine.Command {
	return []engine.Command{
		{Query: engine.BumpLedger, Args: []any{1}},
		{
			Query: `INSERT INTO epochs (service, epoch, issuer, began_at, first_seq) SELECT CAST(? AS TEXT), COALESCE(MAX(epoch), -1) + 1,
			CAST(? AS TEXT), CAST(? AS BIGINT), (SELECT n FROM sequences WHERE name = 'ledger') FROM epochs WHERE service = ?`,
			Args: []any{service, issuer, at, service},
		},
	}
}

// BeginEpochs begins another epoch of each service, because the state was restored to an earlier one.
func (l *Ledger) BeginEpochs(ctx context.Context, t *engine.Tx) {
	next := map[string]Epoch{}
	for row := range t.Query(ctx, selectEpochs) {
		var service string
		var e Epoch
		row(&service, &e.Number, &e.Issuer)
		next[service] = Epoch{e.Number + 1, e.Issuer}
	}
	for _, service := range slices.Sorted(maps.Keys(next)) {
		t.RunAll(ctx, NextEpoch(service, next[service].Issuer, engine.Nanos(t.Now())))
	}
	t.After(func() { l.Epochs.current.Store(&next) })
}
