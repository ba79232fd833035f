// Package upkeep maintains a database: it migrates the schema, deletes expired records, checks the balance, and makes and restores
// backups.
package upkeep

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// NewJournal makes the journal of a database; it returns nil if there is none.
type NewJournal func(db *engine.DB) calls.Journal

// Options of New.
type Options struct {
	// TokensKept is how long the record of a token is kept after its expiry.
	TokensKept time.Duration
	// Services are compared with those in the database when it is opened; nil: they are not compared.
	Services *store.Services
}

// Upkeep maintains one database.
type Upkeep struct {
	db            *engine.DB
	calls         *calls.Calls
	journal       calls.Journal // may be nil
	tokensKept    time.Duration
	services      *store.Services
	servicesFound []store.ServiceProblem // warnings of the opening
	kept          atomic.Int64           // see KeepLedger
}

// New returns the upkeep of a database.
func New(db *engine.DB, c *calls.Calls, journal calls.Journal, o Options) *Upkeep {
	u := &Upkeep{db: db, calls: c, journal: journal, tokensKept: o.TokensKept, services: o.Services}
	u.KeepLedger(math.MaxInt64)
	return u
}

// KeepLedger sets how long charges and top-ups are kept after they ended, from the next Purge on; their sums stay. Without a call Purge
// keeps them all.
func (u *Upkeep) KeepLedger(d time.Duration) { u.kept.Store(int64(d)) }

func (u *Upkeep) ledgerKept() time.Duration { return time.Duration(u.kept.Load()) }

// Ready writes one row, and the changes of calls into their tables. It returns an error if those do not fit the tables. A full disk that
// accepts the row alone is not an error, because much still works there. It takes at most two seconds, less if ctx ends sooner.
func (u *Upkeep) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := u.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		_, err := t.Exec(ctx, "UPDATE sequences SET n = n + 1 WHERE name = 'ready'")
		return err
	})
	if err != nil {
		return err
	}
	if err := u.db.CatchUp(ctx); !engine.DiskFull(err) {
		return err
	}
	return nil
}

// ServerChanged reports whether the database has another server, or another timeline, than when it was last open, or when this process
// opened it.
func (u *Upkeep) ServerChanged() bool { return u.db.ServerChanged() }

// SetBack returns when the database was last found to lack acknowledged commits, since it was opened, by this process or another.
func (u *Upkeep) SetBack() store.SetBack { return u.db.SetBack() }
