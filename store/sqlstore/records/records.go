// Package records keeps who agreed to what: agents and their keys, agreements, tokens, revocations, signing keys, consents, and the
// registrations of an Almanac, with the feed of their changes.
package records

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

var (
	_ pat.IssuerStore = (*Records)(nil)
	_ keys.Store      = (*Records)(nil)
	_ pat.ViewStore   = (*Records)(nil)
)

// Records are the records of one database.
type Records struct {
	db         *engine.DB
	calls      *calls.Calls
	ledger     *ledger.Ledger
	tokensKept time.Duration
	moves      int64        // how often a service's state had been moved when the database was opened
	floor      atomic.Int64 // that of the database at the last Changes
}

// New returns the records of a database. The record of a token is kept for tokensKept after its expiry.
func New(db *engine.DB, c *calls.Calls, l *ledger.Ledger, tokensKept time.Duration) *Records {
	r := &Records{db: db, calls: c, ledger: l, tokensKept: tokensKept}
	db.Restore = r.endAll
	return r
}

// ReadState reads where the feed of changes begins.
func (s *Records) ReadState(ctx context.Context) error {
	s.floor.Store(engine.Nanos(s.db.Floor()))
	_, err := s.db.One(ctx, "SELECT n FROM sequences WHERE name = 'moves'", nil, &s.moves)
	return err
}

// Now returns the time of the store's clock, on which tokens and revocations expire.
func (s *Records) Now() time.Time { return s.db.Now() }

// Changed returns a channel that is closed when this process next commits something that Changes returns. Get the channel, then call
// Changes, then wait: nothing is missed. Changes of other processes close it only if the database sends notifications; do not rely on it.
func (s *Records) Changed() <-chan struct{} { return s.db.Changed() }

// unless returns Aside; or Update if an agent is approved, because what it owes then leaves the pool.
func (s *Records) unless(approved bool) func(context.Context, func(context.Context, *engine.Tx) error) error {
	if approved {
		return s.db.Update
	}
	return s.db.Aside
}

// A list of strings is stored as JSON.
type list []string

// Scan implements sql.Scanner.
func (l *list) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("a list is stored as text, not %T", src)
	}
	return json.Unmarshal([]byte(text), (*[]string)(l))
}

func (l list) text() (string, error) {
	out, err := json.Marshal([]string(l))
	return string(out), err
}

// endAll ends every PAT and signing key in a transaction that marks the state as restored.
func (s *Records) endAll(ctx context.Context, t *engine.Tx) error {
	seq, err := t.NextChange(ctx)
	if err != nil {
		return err
	}
	now := engine.Nanos(t.Now())
	if _, err := t.Exec(ctx, "UPDATE signing_keys SET not_after = ?, seq = ? WHERE not_after = 0 OR not_after > ?", now, seq,
		now); err != nil {
		return err
	}
	_, err = t.Exec(ctx, `INSERT INTO revocations (service, kind, subject, at, until, reason, seq)
			SELECT service, CAST(? AS TEXT), digest, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT) FROM policies `+
		`WHERE true
			ON CONFLICT (service, kind, subject) DO UPDATE SET at = excluded.at, until = excluded.until, reason = excluded.reason, seq = `+
		`excluded.seq`,
		string(pat.RevokedPolicy), now, engine.Nanos(t.Now().Add(pat.MaxTTL+s.tokensKept)), "the state was restored", seq)
	return err
}
