package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const (
	selectPrunable = `SELECT service, agent_id, currency FROM accounts a WHERE (service, agent_id, currency) > (?, ?, ?) AND EXISTS
		(SELECT 1 FROM ledger l WHERE l.service = a.service AND l.agent_id = a.agent_id AND l.currency = a.currency AND l.k >= 0
			AND l.k = a.kept AND l.at <= ?) ORDER BY service, agent_id, currency LIMIT 100`
	selectChainEnd = `SELECT lines, head, kept, carried_by FROM accounts WHERE service = ? AND agent_id = ? AND currency = ? FOR UPDATE`
	selectOldest   = `SELECT l.k, l.leaf, l.at, l.kind, l.from_state, l.to_state, l.amount, l.execution_id, l.details, COALESCE(e.state, ''),
		COALESCE(e.settled_at, 0) FROM ledger l LEFT JOIN executions e ON e.id = l.execution_id
		WHERE l.service = ? AND l.agent_id = ? AND l.currency = ? AND l.k >= 0 AND l.k >= ? ORDER BY l.k LIMIT ?`
	ofPrefix     = " FROM ledger WHERE service = ? AND agent_id = ? AND currency = ? AND k >= 0 AND k >= ? AND k <= ?"
	deleteTexts  = "DELETE FROM evidence WHERE seq IN (SELECT seq" + ofPrefix + ")"
	deletePrefix = "DELETE" + ofPrefix
	selectCarry  = "SELECT details FROM ledger WHERE service = ? AND agent_id = ? AND currency = ? AND k >= 0 AND k = ?"
)

// Prunable returns up to 100 accounts that follow the given one in order, and whose chain begins with an entry made at or before the given
// time.
func (l *Ledger) Prunable(ctx context.Context, after AccountKey, before time.Time) ([]AccountKey, error) {
	return engine.All(ctx, l.db, selectPrunable, []any{after.Service, after.AgentID, after.Currency, engine.Nanos(before)},
		func(scan engine.Scan) (k AccountKey, err error) {
			err = scan(&k.Service, &k.AgentID, &k.Currency)
			return k, err
		})
}

// A Prefix is the part of a chain that Prune deleted.
type Prefix struct {
	Entries int
	Ended   []string // the executions whose last entry was deleted
	Account          // the effect of the deleted entries on the sums of the account
	Until   time.Time
}

// A prunable is an entry at the beginning of a chain.
type prunable struct {
	k, at, amount, settled   int64
	leaf                     []byte
	kind, execution, details string
	from, to, state          store.State
}

func scanPrunable(scan engine.Scan) (p prunable, err error) {
	err = scan(&p.k, &p.leaf, &p.at, &p.kind, &p.from, &p.to, &p.amount, &p.execution, &p.details, &p.state, &p.settled)
	return p, err
}

// old reports whether the entry may be deleted: its charge or top-up ended at or before the given time.
func (p *prunable) old(before int64) bool {
	switch {
	case p.at > before:
		return false
	case p.execution == "" || p.state == "":
		return true
	default:
		return (p.state == store.Captured || p.state == store.Released) && p.settled <= before
	}
}

// Prune deletes up to limit entries from the beginning of a chain, with the texts of their charges. It stops at the first entry whose
// charge or top-up did not end at or before the given time. It then adds an entry of kind carry with the sums of the account after the last
// deleted entry. The caller must delete the records of the executions that have no entries left.
func (l *Ledger) Prune(ctx context.Context, t *engine.Tx, k AccountKey, before time.Time, limit int) (Prefix, error) {
	out := Prefix{Account: Account{AccountKey: k}}
	var head []byte
	var lines, kept, carry int64
	key := []any{k.Service, k.AgentID, k.Currency}
	if !t.Find(ctx, selectChainEnd, key, &lines, &head, &kept, &carry) {
		return out, nil
	}
	list := slices.Collect(engine.Records(ctx, t, scanPrunable, selectOldest, append(key[:3:3], kept, limit)...))
	sums, err := l.carriedSums(ctx, t, k, carry)
	if err != nil {
		return out, err
	}
	through, carries := evidence.Through{K: -1}, 0
	for _, p := range list {
		if !p.old(engine.Nanos(before)) {
			break
		}
		through = evidence.Through{K: p.k, Hash: evidence.HashOf(p.leaf)}
		out.Until = laterOf(out.Until, engine.FromNanos(p.at))
		out.Entries++
		if p.kind == kindCarry {
			carries++
			continue
		}
		moved := sum{from: p.from, to: p.to, nano: p.amount}
		sums.move(moved)
		out.add(moved)
		if p.to == store.Captured || p.to == store.Released {
			out.Ended = append(out.Ended, p.execution)
		}
	}
	if out.Entries == carries { // a carry that would replace only another carry is not worth writing
		return Prefix{}, nil
	}
	epoch := l.Epochs.Of(k.Service)
	place := Place{Epoch: epoch.Number, K: lines, Prev: evidence.HashOf(head)}
	e := carryEntry(place, epoch.Issuer, k, t.Now(), &through, sums, l.Salt())
	prefix := append(key[:3:3], kept, through.K)
	t.Run(ctx, deleteTexts, prefix...)
	t.Run(ctx, deletePrefix, prefix...)
	t.RunAll(ctx, writeCarry(k, e))
	return out, nil
}

// add adds the effect of an entry.
func (p *Prefix) add(n sum) {
	var moved position
	moved.move(n)
	p.ToppedUp, p.Held, p.Captured = p.ToppedUp+moved.toppedUp, p.Held+moved.held, p.Captured+moved.captured
}

// carriedSums returns the sums that the newest carry of an account contains; zero if there is none.
func (l *Ledger) carriedSums(ctx context.Context, t *engine.Tx, k AccountKey, carry int64) (position, error) {
	if carry < 0 {
		return position{}, nil
	}
	var text string
	t.Find(ctx, selectCarry, []any{k.Service, k.AgentID, k.Currency, carry}, &text)
	e, err := evidence.ParseEntry([]byte(text))
	if err != nil || e.Sums == nil {
		r := ChainRow{Account: k, Place: Place{K: carry}}
		return position{}, r.altered()
	}
	return position{
		toppedUp: e.Sums.ToppedUp.Nano, held: e.Sums.Held.Nano, unresolved: e.Sums.Unresolved.Nano, captured: e.Sums.Captured.Nano,
	}, nil
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
