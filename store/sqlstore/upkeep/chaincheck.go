package upkeep

import (
	"context"
	"sync/atomic"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

const (
	selectChains    = ledger.SelectChecked + " WHERE l.k >= 0 ORDER BY l.seq"
	selectNewChains = ledger.SelectChecked + " WHERE l.k >= 0 AND l.seq > ? ORDER BY l.seq"
	selectHeads     = "SELECT service, agent_id, currency, lines, head, kept, carried_by, topped_up, held, captured FROM accounts"
)

// checkChains rebuilds every entry of the ledger from its row, in one pass, and checks that the entries of each account form a whole chain.
// Each entry must have the next number and the hash of the entry before it. The last entry must be the head of the account, and the sums
// of the account must be those of its entries. If entries before the first one are missing, an entry of kind carry must have replaced them.
// checkChains returns how many records of executions and texts the entries imply.
func checkChains(ctx context.Context, reader *engine.Reader, issuers epochIssuers) (implied impliedRows, err error) {
	heads := readHeads(ctx, reader)
	chains, err := rebuildChains(ctx, reader, issuers, &implied, selectChains)
	if err != nil {
		return implied, err
	}
	for k, c := range chains {
		h, found := heads[k]
		if !found {
			return implied, k.Altered("it has entries, but no account")
		}
		if err := c.end(h); err != nil {
			return implied, err
		}
		delete(heads, k)
	}
	for k, h := range heads { // accounts without entries
		if h.lines > 0 {
			return implied, k.Altered("all %d entries are missing", h.lines)
		}
		if h.sums != (chainSums{}) && len(chains) > 0 { // opening a database starts the chains of all accounts from a release without chains
			return implied, k.Altered("it has sums, but no entries")
		}
	}
	return implied, nil
}

// rebuildChains rebuilds every entry that a query with the columns of ledger.SelectChecked finds. It checks that the entries of each
// account follow each other.
func rebuildChains(
	ctx context.Context, reader *engine.Reader, issuers epochIssuers, implied *impliedRows, query string, args ...any,
) (map[ledger.AccountKey]*chainCheck, error) {
	chains := map[ledger.AccountKey]*chainCheck{}
	var buffer []byte
	return chains, inBatches(ctx, reader, func(r *ledger.CheckedRow) error {
		text, err := r.Append(buffer[:0], issuers.of(r.Account.Service, r.Epoch))
		if err != nil {
			return err
		}
		buffer = text
		c := chains[r.Account]
		if c == nil {
			c = &chainCheck{account: r.Account, first: r.Place, next: r.K, prev: r.Prev, carry: -1}
			chains[r.Account] = c
		}
		implied.add(r)
		return c.add(r, text)
	}, query, args...)
}

// batchRows is the number of rows that inBatches passes to check at once.
const batchRows = 256

// inBatches calls check for every row of a query with the columns of ledger.SelectChecked, in order, until check returns an error. It reads
// further rows while check runs, so that two processors share the work.
func inBatches(ctx context.Context, reader *engine.Reader, check func(*ledger.CheckedRow) error, query string, args ...any) error {
	full, empty := make(chan []ledger.CheckedRow, 2), make(chan []ledger.CheckedRow, 3)
	for range cap(empty) {
		empty <- make([]ledger.CheckedRow, 0, batchRows)
	}
	var failed atomic.Bool
	checked := make(chan error, 1)
	go func() {
		var err error
		for batch := range full {
			for i := 0; i < len(batch) && err == nil; i++ {
				err = check(&batch[i])
			}
			failed.Store(err != nil)
			empty <- batch
		}
		checked <- err
	}()
	batch := <-empty
	for range engine.Records(ctx, reader, func(scan engine.Scan) (*ledger.CheckedRow, error) {
		batch = batch[:len(batch)+1]
		r := &batch[len(batch)-1]
		return r, r.Scan(scan)
	}, query, args...) {
		if failed.Load() {
			break
		}
		if len(batch) == cap(batch) {
			full <- batch
			batch = (<-empty)[:0]
		}
	}
	full <- batch
	close(full)
	return <-checked
}

// A chainHead is the end of a chain, as its account records it.
type chainHead struct {
	lines, kept, carry int64
	hash               evidence.Hash
	sums               chainSums
}

// chainSums are the sums of an account, in billionths of a unit.
type chainSums struct{ toppedUp, held, captured int64 }

// move adds the effect of an entry that is not a carry.
func (s *chainSums) move(r *ledger.CheckedRow) {
	if r.To == "" {
		s.toppedUp += r.Amount
		return
	}
	for _, m := range []struct {
		state store.State
		nano  int64
	}{{r.From, -r.Amount}, {r.To, r.Amount}} {
		switch m.state {
		case store.Held, store.Unresolved:
			s.held += m.nano
		case store.Captured:
			s.captured += m.nano
		case store.Released:
		}
	}
}

// A chainCheck checks the entries of one account in order.
type chainCheck struct {
	account ledger.AccountKey
	first   ledger.Place
	next    int64
	prev    evidence.Hash
	carried bool  // an entry carries the sums of the entries before first
	carry   int64 // number of the last carry; -1: there is none
	sums    chainSums
}

func (c *chainCheck) add(r *ledger.CheckedRow, text []byte) error {
	switch {
	case r.K != c.next || r.Prev != c.prev:
		return c.account.Altered("entry %d does not follow entry %d", r.K, c.next-1)
	case r.Differs():
		return c.account.Altered("the record of the execution %s is not that of entry %d", r.Execution(), r.K)
	}
	c.next, c.prev = r.K+1, r.Leaf
	if r.Kind != string(evidence.KindCarry) {
		c.sums.move(r)
		return nil
	}
	c.carry = r.K
	if c.carried {
		return nil
	}
	e, err := evidence.ParseEntry(text)
	begins := err == nil && e.Through == nil && r.K == 0 // it carries the sums of a release without chains
	if c.carried = err == nil && e.Through != nil && e.Through.K == c.first.K-1 && e.Through.Hash == c.first.Prev; c.carried || begins {
		c.sums.toppedUp += e.Sums.ToppedUp.Nano
		c.sums.held += e.Sums.Held.Nano
		c.sums.captured += e.Sums.Captured.Nano
	}
	return nil
}

// end compares the end of the chain with the head in its account.
func (c *chainCheck) end(h chainHead) error {
	switch {
	case h.lines != c.next || h.hash != c.prev:
		return c.account.Altered("the last entry is %d, but the account has %d", c.next-1, h.lines-1)
	case c.first.K != h.kept || c.first.K > 0 && !c.carried:
		return c.account.Altered("the entries before %d are missing", c.first.K)
	case c.carry != h.carry:
		return c.account.Altered("the last entry with sums is %d, but the account has %d", c.carry, h.carry)
	case c.sums != h.sums:
		return c.account.Altered("the sums of the account are not those of its entries")
	}
	return nil
}

type epochKey struct {
	service string
	epoch   int64
}

// epochIssuers are the issuers of the epochs that are recorded.
type epochIssuers map[epochKey]string

// of returns the issuer of an epoch. A service that is not recorded is in its first epoch, and its id is its issuer.
func (i epochIssuers) of(service string, epoch int64) string {
	if issuer, ok := i[epochKey{service, epoch}]; ok {
		return issuer
	}
	return service
}

func readIssuers(ctx context.Context, reader *engine.Reader) epochIssuers {
	out := epochIssuers{}
	for row := range reader.Query(ctx, "SELECT service, epoch, issuer FROM epochs") {
		var k epochKey
		var issuer string
		row(&k.service, &k.epoch, &issuer)
		out[k] = issuer
	}
	return out
}

func readHeads(ctx context.Context, reader *engine.Reader) map[ledger.AccountKey]chainHead {
	out := map[ledger.AccountKey]chainHead{}
	for row := range reader.Query(ctx, selectHeads) {
		var k ledger.AccountKey
		var h chainHead
		var hash []byte
		row(&k.Service, &k.AgentID, &k.Currency, &h.lines, &hash, &h.kept, &h.carry, &h.sums.toppedUp, &h.sums.held, &h.sums.captured)
		h.hash = evidence.HashOf(hash)
		out[k] = h
	}
	return out
}
