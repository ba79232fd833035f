package upkeep

import (
	"context"
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// A VerifiedPoint records how far one or more checks have verified the ledger, counted from its beginning. It contains no secrets. A person
// who can change it can hide alterations from the next check.
type VerifiedPoint struct {
	Seq  int64         `json:"seq"`  // the number of the last entry that was verified
	Logs []VerifiedLog `json:"logs"` // ordered by service and epoch
}

// A VerifiedLog is the verified state of a log: what its checkpoint states.
type VerifiedLog struct {
	Service string        `json:"service"`
	Epoch   int64         `json:"epoch"`
	Size    int64         `json:"size"`
	Root    evidence.Hash `json:"root"`
}

// ErrBeforePoint means that the ledger has fewer entries than an earlier check verified: the state was restored, or entries were
// removed.
var ErrBeforePoint = errors.New("the ledger has fewer entries than the last check verified: the state was restored from a backup, or " +
	"entries were removed")

// ErrRestored means that the state was restored from a backup after an earlier check had verified it: a restore begins a new epoch.
var ErrRestored = errors.New("the state was restored since the last check")

// selectRows counts the entries that are left of each account. It reads only an index.
const selectRows = `SELECT service, agent_id, currency, COUNT(*), MIN(k), MAX(k) FROM ledger WHERE k >= 0
	GROUP BY service, agent_id, currency`

// selectBefore reads the end of a chain before an entry.
const selectBefore = "SELECT seq, leaf FROM ledger WHERE service = ? AND agent_id = ? AND currency = ? AND k >= 0 AND k = ?"

// selectWrongHead finds an account whose head is not the hash of its last entry.
const selectWrongHead = `SELECT a.service, a.agent_id, a.currency FROM accounts a WHERE a.lines > 0 AND NOT EXISTS (SELECT 1 FROM ledger l
	WHERE l.service = a.service AND l.agent_id = a.agent_id AND l.currency = a.currency AND l.k >= 0 AND l.k = a.lines - 1
		AND l.leaf = a.head) LIMIT 1`

// checkNewEntries is checkChains for the entries after a point. It checks that these entries continue the chains of their accounts, and
// that no earlier entry is missing. It does not rebuild earlier entries.
func checkNewEntries(ctx context.Context, reader *engine.Reader, issuers epochIssuers, after int64) (implied impliedRows, err error) {
	heads := readHeads(ctx, reader)
	chains, err := rebuildChains(ctx, reader, issuers, &implied, selectNewChains, after)
	if err != nil {
		return implied, err
	}
	for k, c := range chains {
		if err := continues(ctx, reader, c, after); err != nil {
			return implied, err
		}
		h, found := heads[k]
		switch {
		case !found:
			return implied, k.Altered("it has entries, but no account")
		case h.lines != c.next || h.hash != c.prev:
			return implied, k.Altered("the last entry is %d, but the account has %d", c.next-1, h.lines-1)
		case c.carry >= 0 && c.carry != h.carry:
			return implied, k.Altered("the last entry with sums is %d, but the account has %d", c.carry, h.carry)
		}
	}
	if err := checkNoneMissing(ctx, reader, heads); err != nil {
		return implied, err
	}
	var k ledger.AccountKey
	if reader.Find(ctx, selectWrongHead, nil, &k.Service, &k.AgentID, &k.Currency) {
		return implied, k.Altered("its head is not the hash of its last entry")
	}
	return implied, nil
}

// continues checks that the first new entry of a chain follows an entry up to the point or, if that was deleted, an entry that carries its
// sums.
func continues(ctx context.Context, reader *engine.Reader, c *chainCheck, after int64) error {
	if c.first.K == 0 {
		return nil
	}
	var seq int64
	var leaf []byte
	found := reader.Find(ctx, selectBefore, []any{c.account.Service, c.account.AgentID, c.account.Currency, c.first.K - 1}, &seq, &leaf)
	switch {
	case !found && c.carried:
		return nil
	case !found:
		return c.account.Altered("the entry before %d is missing", c.first.K)
	case seq > after || evidence.HashOf(leaf) != c.first.Prev:
		return c.account.Altered("entry %d does not follow entry %d", c.first.K, c.first.K-1)
	}
	return nil
}

// checkNoneMissing checks that every account has all its entries from the first one that was kept to the last one.
func checkNoneMissing(ctx context.Context, reader *engine.Reader, heads map[ledger.AccountKey]chainHead) error {
	found := map[ledger.AccountKey]bool{}
	for row := range reader.Query(ctx, selectRows) {
		var k ledger.AccountKey
		var count, first, last int64
		row(&k.Service, &k.AgentID, &k.Currency, &count, &first, &last)
		found[k] = true
		if h, known := heads[k]; !known || first != h.kept || last != h.lines-1 || count != h.lines-h.kept {
			return k.Altered("entries are missing or superfluous: it has %d, from %d to %d", count, first, last)
		}
	}
	for k, h := range heads {
		if h.lines > 0 && !found[k] {
			return k.Altered("all %d entries are missing", h.lines)
		}
	}
	return nil
}

// pointOf returns the point up to which a snapshot with these logs is verified once all its checks have passed.
func pointOf(ctx context.Context, reader *engine.Reader, heads []loggedHead) (p VerifiedPoint) {
	reader.Find(ctx, "SELECT COALESCE(MAX(seq), 0) FROM ledger", nil, &p.Seq)
	for _, h := range heads {
		p.Logs = append(p.Logs, VerifiedLog{h.service, h.epoch, h.size, h.root})
	}
	return p
}

// precedes checks that now is not older than p. If it is older because the state was restored, the error also wraps ErrRestored.
func (p *VerifiedPoint) precedes(now VerifiedPoint, epochs epochIssuers) error {
	older := now.olderThan(p)
	if older != nil && p.restoredBefore(epochs) {
		return fmt.Errorf("%w: %w", ErrRestored, older)
	}
	return older
}

func (p *VerifiedPoint) olderThan(before *VerifiedPoint) error {
	if p.Seq < before.Seq {
		return fmt.Errorf("%w: %w", store.ErrAltered, ErrBeforePoint)
	}
	for _, l := range before.Logs {
		if size, _ := p.rootAt(l.Service, l.Epoch); size < l.Size {
			return fmt.Errorf("the log of service %q, epoch %d: %w: %w", l.Service, l.Epoch, store.ErrAltered, ErrBeforePoint)
		}
	}
	return nil
}

// restoredBefore reports whether a service has a later epoch than at the point. Each restore begins one.
func (p *VerifiedPoint) restoredBefore(epochs epochIssuers) bool {
	newest := map[string]int64{}
	for _, l := range p.Logs {
		newest[l.Service] = max(newest[l.Service], l.Epoch)
	}
	for k := range epochs {
		if epoch, known := newest[k.service]; known && k.epoch > epoch {
			return true
		}
	}
	return false
}

// rootAt returns the verified root of a log and its size; 0 if the log was not verified before.
func (p *VerifiedPoint) rootAt(service string, epoch int64) (size int64, root evidence.Hash) {
	if p == nil {
		return 0, root
	}
	for _, l := range p.Logs {
		if l.Service == service && l.Epoch == epoch {
			return l.Size, l.Root
		}
	}
	return 0, root
}
