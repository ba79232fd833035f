// Package records stores agents and their keys, agreements, tokens, revocations, signing keys, consents, and the registrations of an
// Almanac. It also provides the feed of their changes.
package records

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

var (
	_ pat.IssuerStore = (*Records)(nil)
	_ keys.Store      = (*Records)(nil)
	_ pat.ViewStore   = (*Records)(nil)
)

// Records reads and writes the records of a database.
type Records struct {
	db         *engine.DB
	calls      *calls.Calls
	ledger     *ledger.Ledger
	tokensKept time.Duration
	moves      int64        // how often a service's state had been moved when the database was opened
	floor      atomic.Int64 // the floor of the database at the last call to Changes
}

// New returns the Records of a database, and sets db.Restore. The record of a token is kept for tokensKept after the token has expired.
func New(db *engine.DB, c *calls.Calls, l *ledger.Ledger, tokensKept time.Duration) *Records {
	r := &Records{db: db, calls: c, ledger: l, tokensKept: tokensKept}
	db.Restore = r.endAll
	return r
}

// ReadState reads the state of the database with which Changes compares later states.
func (s *Records) ReadState(ctx context.Context) error {
	s.floor.Store(engine.Nanos(s.db.Floor()))
	_, err := s.db.One(ctx, "SELECT n FROM sequences WHERE name = 'moves'", nil, &s.moves)
	return err
}

// Now returns the time of the store's clock, which determines when tokens and revocations expire.
func (s *Records) Now() time.Time { return s.db.Now() }

// Changed returns a channel that is closed when this process next commits something that Changes returns. To miss nothing, get the channel,
// then call Changes, and then wait. Changes of other processes close the channel only if the database sends notifications, so a caller must
// also poll.
func (s *Records) Changed() <-chan struct{} { return s.db.Changed() }

// unless returns DB.Aside or, if the operation approves an agent, DB.Update, because the debt of the agent then leaves its pool.
func (s *Records) unless(approved bool) func(context.Context, func(context.Context, *engine.Tx) error) error {
	if approved {
		return s.db.Update
	}
	return s.db.Aside
}

// used returns err or, if a statement has changed no row, store.ErrUsed.
func used(rows int64, err error) error {
	if err == nil && rows == 0 {
		return store.ErrUsed
	}
	return err
}

// known returns err or, if a statement has changed no row, pat.ErrNotFound.
func known(rows int64, err error) error {
	if err == nil && rows == 0 {
		return pat.ErrNotFound
	}
	return err
}

// present returns err or, if a query has found no row, store.ErrNotFound.
func present(found bool, err error) error {
	if err == nil && !found {
		return store.ErrNotFound
	}
	return err
}

// A list is a list of strings that is stored as JSON.
type list []string

// Scan implements sql.Scanner.
func (l *list) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("a stored list must be text, not %T", src)
	}
	return json.Unmarshal([]byte(text), (*[]string)(l))
}

func (l list) text() (string, error) {
	out, err := json.Marshal([]string(l))
	return string(out), err
}

// endAll ends every PAT and every signing key, except those of receipts and logs, and begins another epoch of each service, in the
// transaction that marks the state as restored. It deletes the sessions and links of the console, because the backup may contain ended
// sessions and used links. If limits start anew, it also deletes their counters. It returns the time at which the newest agent was created.
func (s *Records) endAll(ctx context.Context, t *engine.Tx, l store.RestoredLimits) (agents int64) {
	if l.Mode == store.RestoreFresh {
		t.Run(ctx, "DELETE FROM counters WHERE period <> '"+string(limit.Lifetime)+"'")
	}
	t.Run(ctx, "DELETE FROM console_sessions")
	t.Run(ctx, "DELETE FROM console_links")
	t.Find(ctx, "SELECT COALESCE(MAX(created_at), 0) FROM agents AS every", nil, &agents)
	seq := t.NextChange(ctx)
	s.ledger.BeginEpochs(ctx, t)
	now := engine.Nanos(t.Now())
	t.Run(ctx, "UPDATE signing_keys SET not_after = ?, seq = ? WHERE (not_after = 0 OR not_after > ?) "+
		"AND purpose NOT IN ('receipt', 'log')", now, seq, now)
	t.Run(ctx, `INSERT INTO revocations (service, kind, subject, at, until, reason, seq)
			SELECT service, CAST(? AS TEXT), digest, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT) FROM policies `+
		`WHERE true
			ON CONFLICT (service, kind, subject) DO UPDATE SET at = excluded.at, until = excluded.until, reason = excluded.reason, seq = `+
		`excluded.seq`,
		string(pat.RevokedPolicy), now, engine.Nanos(t.Now().Add(pat.MaxTTL+s.tokensKept)), "the state was restored", seq)
	return agents
}
