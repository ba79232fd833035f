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
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// A NewJournal returns the journal of a database, or nil to use none.
type NewJournal func(db *engine.DB) calls.Journal

// Options are the options of New.
type Options struct {
	// TokensKept is how long the record of a token is kept after the token has expired.
	TokensKept time.Duration
	// Services are compared with the services in the database when it is opened. If Services is nil, nothing is compared.
	Services *store.Services
}

// Upkeep maintains a database.
type Upkeep struct {
	db            *engine.DB
	calls         *calls.Calls
	ledger        *ledger.Ledger
	journal       calls.Journal // may be nil
	tokensKept    time.Duration
	services      *store.Services
	servicesFound []store.ServiceProblem // warnings from Upgrade
	kept          atomic.Int64           // see KeepLedger
}

// New returns the upkeep of a database.
func New(db *engine.DB, c *calls.Calls, l *ledger.Ledger, journal calls.Journal, o Options) *Upkeep {
	u := &Upkeep{db: db, calls: c, ledger: l, journal: journal, tokensKept: o.TokensKept, services: o.Services}
	u.KeepLedger(math.MaxInt64)
	return u
}

// KeepLedger sets how long the next calls to Purge keep charges and top-ups after they have ended. Their sums are always kept. Before the
// first call to KeepLedger, Purge keeps all charges and top-ups.
func (u *Upkeep) KeepLedger(d time.Duration) { u.kept.Store(int64(d)) }

func (u *Upkeep) ledgerKept() time.Duration { return time.Duration(u.kept.Load()) }

// Ready writes one row, and writes the pending changes of calls into their tables. It returns an error if the row cannot be written, or if
// the changes contradict the tables. It returns nil if the disk is full but still accepts the row, because most operations still work.
// After two seconds, Ready fails, unless a transaction has already started: it then waits for the end of that transaction.
func (u *Upkeep) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := u.db.Run(ctx, "UPDATE sequences SET n = n + 1 WHERE name = 'ready'"); err != nil {
		return err
	}
	if err := u.db.CatchUp(ctx); !engine.DiskFull(err) {
		return err
	}
	return nil
}

// ServerChanged reports whether the database is on a different server or timeline than when it was last open or when this process opened
// it.
func (u *Upkeep) ServerChanged() bool { return u.db.ServerChanged() }

// SetBack returns when this process or another last detected that the database lacks acknowledged commits, and how many commits of this
// process were missing. It returns the zero value if this has not happened since the database was opened.
func (u *Upkeep) SetBack() store.SetBack { return u.db.SetBack() }

// HeldLimits returns the limits that are held back at present because of a restore or a step of the clock, as far as this process knows.
func (u *Upkeep) HeldLimits() store.HeldLimits { return u.db.HeldLimits() }
