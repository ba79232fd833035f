package upkeep

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

const (
	selectChains = ledger.SelectChain + " WHERE l.k >= 0 ORDER BY l.seq"
	selectHeads  = "SELECT service, agent_id, currency, lines, head, kept FROM accounts ORDER BY service, agent_id, currency"
)

// checkChains rebuilds every entry of the ledger from its row, in one pass, and checks that the entries of each account form a whole chain:
// each has the next number and the hash of the entry before it, and the last one is the head of the account. If entries before the first
// one are missing, an entry of kind carry must have replaced them.
func (u *Upkeep) checkChains(ctx context.Context, reader *sql.Tx) error {
	issuers, err := readIssuers(ctx, reader)
	if err != nil {
		return err
	}
	heads, err := readHeads(ctx, reader)
	if err != nil {
		return err
	}
	rows, err := reader.QueryContext(ctx, selectChains)
	if err != nil {
		return engine.Unavailable(err)
	}
	chains := map[ledger.AccountKey]*chainCheck{}
	var buffer []byte
	if err := inBatches(rows, func(r *ledger.ChainRow) error {
		text, err := r.Append(buffer[:0], issuerOf(issuers, r))
		if err != nil {
			return err
		}
		buffer = text
		c := chains[r.Account]
		if c == nil {
			c = &chainCheck{account: r.Account, first: r.Place, next: r.K, prev: r.Prev}
			chains[r.Account] = c
		}
		return c.add(r, text)
	}); err != nil {
		return err
	}
	for k, c := range chains {
		h, found := heads[k]
		if !found {
			return alteredAccount(k, "it has entries, but no account")
		}
		if err := c.end(h); err != nil {
			return err
		}
		delete(heads, k)
	}
	for k, h := range heads { // accounts without entries
		if h.lines > 0 {
			return alteredAccount(k, "all %d entries are missing", h.lines)
		}
	}
	return nil
}

// batchRows is the number of rows that inBatches passes to check at once.
const batchRows = 256

// inBatches calls check for every row of a query with the columns of ledger.SelectChain, in order. It reads further rows while check runs,
// so that two processors share the work.
func inBatches(rows *sql.Rows, check func(*ledger.ChainRow) error) error {
	full, empty := make(chan []ledger.ChainRow, 2), make(chan []ledger.ChainRow, 3)
	for range cap(empty) {
		empty <- make([]ledger.ChainRow, 0, batchRows)
	}
	stopped := make(chan error, 1) // the error of check
	go func() {
		for batch := range full {
			for i := range batch {
				if err := check(&batch[i]); err != nil {
					stopped <- err
					return
				}
			}
			empty <- batch
		}
		stopped <- nil
	}()
	var stop error
	var batch []ledger.ChainRow
	pass := func() bool {
		select {
		case full <- batch:
			batch = nil
			return true
		case stop = <-stopped:
			return false
		}
	}
	err := engine.Drain(rows, func(scan engine.Scan) error {
		if batch == nil {
			select {
			case batch = <-empty:
				batch = batch[:0]
			case stop = <-stopped:
				return stop
			}
		}
		batch = batch[:len(batch)+1]
		if err := batch[len(batch)-1].Scan(scan); err != nil {
			return engine.Unavailable(err)
		}
		if len(batch) == cap(batch) && !pass() {
			return stop
		}
		return nil
	})
	if stop == nil && err == nil && len(batch) > 0 {
		pass()
	}
	close(full)
	if stop == nil {
		stop = <-stopped
	}
	return cmp.Or(stop, err)
}

// A chainHead is the end of a chain, as its account records it.
type chainHead struct {
	lines, kept int64
	hash        evidence.Hash
}

// A chainCheck checks the entries of one account in order.
type chainCheck struct {
	account ledger.AccountKey
	first   ledger.Place
	next    int64
	prev    evidence.Hash
	carried bool // an entry carries the sums of the entries before first
}

func (c *chainCheck) add(r *ledger.ChainRow, text []byte) error {
	if r.K != c.next || r.Prev != c.prev {
		return alteredAccount(c.account, "entry %d does not follow entry %d", r.K, c.next-1)
	}
	c.next, c.prev = r.K+1, r.Leaf
	if r.Kind == string(evidence.KindCarry) && !c.carried {
		e, err := evidence.ParseEntry(text)
		c.carried = err == nil && e.Through != nil && e.Through.K == c.first.K-1 && e.Through.Hash == c.first.Prev
	}
	return nil
}

// end compares the end of the chain with the head in its account.
func (c *chainCheck) end(h chainHead) error {
	switch {
	case h.lines != c.next || h.hash != c.prev:
		return alteredAccount(c.account, "the last entry is %d, but the account has %d", c.next-1, h.lines-1)
	case c.first.K != h.kept || c.first.K > 0 && !c.carried:
		return alteredAccount(c.account, "the entries before %d are missing", c.first.K)
	}
	return nil
}

func alteredAccount(k ledger.AccountKey, format string, args ...any) error {
	return fmt.Errorf("service %q, agent %q, %s: %s: %w", k.Service, k.AgentID, k.Currency, fmt.Sprintf(format, args...), store.ErrAltered)
}

type epochKey struct {
	service string
	epoch   int64
}

func readIssuers(ctx context.Context, reader *sql.Tx) (map[epochKey]string, error) {
	out := map[epochKey]string{}
	rows, err := reader.QueryContext(ctx, "SELECT service, epoch, issuer FROM epochs")
	if err != nil {
		return nil, engine.Unavailable(err)
	}
	return out, engine.Drain(rows, func(scan engine.Scan) error {
		var k epochKey
		var issuer string
		err := scan(&k.service, &k.epoch, &issuer)
		out[k] = issuer
		return err
	})
}

// issuerOf returns the issuer of a row. A service that is not recorded is in its first epoch, and its id is its issuer.
func issuerOf(issuers map[epochKey]string, r *ledger.ChainRow) string {
	if issuer, ok := issuers[epochKey{r.Account.Service, r.Epoch}]; ok {
		return issuer
	}
	return r.Account.Service
}

func readHeads(ctx context.Context, reader *sql.Tx) (map[ledger.AccountKey]chainHead, error) {
	out := map[ledger.AccountKey]chainHead{}
	rows, err := reader.QueryContext(ctx, selectHeads)
	if err != nil {
		return nil, engine.Unavailable(err)
	}
	return out, engine.Drain(rows, func(scan engine.Scan) error {
		var k ledger.AccountKey
		var h chainHead
		var hash []byte
		err := scan(&k.Service, &k.AgentID, &k.Currency, &h.lines, &hash, &h.kept)
		h.hash = evidence.HashOf(hash)
		out[k] = h
		return err
	})
}
