package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A Book holds the accounts, pools and entries that operations change in one transaction, with their values at the end of that transaction.
type Book struct {
	t        *engine.Tx
	sharing  engine.ShareMode
	epochs   *Epochs
	cache    *Cache // nil: everything is read
	accounts map[AccountKey]*row
	pools    map[PoolKey]*pool
	owed     map[PoolKey]int64 // the amount that the transaction adds to a pool
	lines    []Line
	text     []byte // the bytes of the last entry
}

// A row is an account in a transaction.
type row struct {
	now   Account
	was   Account // as it was read
	found bool    // the row exists
	dirty bool
}

// NewBook returns the empty book of a transaction.
func NewBook(t *engine.Tx, sharing engine.ShareMode, epochs *Epochs, cache *Cache) *Book {
	return &Book{
		t: t, sharing: sharing, epochs: epochs, cache: cache,
		accounts: map[AccountKey]*row{}, pools: map[PoolKey]*pool{}, owed: map[PoolKey]int64{},
	}
}

// Grow makes space for n lines.
func (b *Book) Grow(n int) { b.lines = slices.Grow(b.lines, n) }

// A Line is an entry of the ledger: a change of an execution that has a charge.
type Line struct {
	// Execution is the record in its new state. The fields that are written to the ledger must not change after that.
	*store.Execution

	From store.State // empty if the execution began
	By   string
	// Sent and Form are those of the Settlement; both are empty unless the charge was captured.
	Sent, Form string

	Place // set by Enter
}

// At returns when the change took place.
func (l Line) At() time.Time {
	switch {
	case l.From == "":
		return l.BeganAt
	case l.State == store.Unresolved:
		return l.UnresolvedAt
	default:
		return l.SettledAt
	}
}

// The actors that change executions, as the ledger names them.
const (
	ByAgent    = "agent"
	BySweeper  = "sweeper"
	ByService  = "service"
	ByOperator = "operator"
)

const (
	selectAccount = "SELECT topped_up, held, captured, pooled, lines, head FROM accounts WHERE service = ? AND agent_id = ? AND currency = ? FOR UPDATE"
	insertAccount = "INSERT INTO accounts (topped_up, held, captured, pooled, lines, head, service, agent_id, currency) " +
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	orUpdateAccount = ` ON CONFLICT (service, agent_id, currency) DO UPDATE SET topped_up = excluded.topped_up, held = excluded.held,
		captured = excluded.captured, pooled = excluded.pooled, lines = excluded.lines, head = excluded.head`
	updateAccount = "UPDATE accounts SET topped_up = ?, held = ?, captured = ?, pooled = ?, lines = ?, head = ? " +
		"WHERE service = ? AND agent_id = ? AND currency = ?"
	updateAccountFrom = updateAccount + " AND topped_up = ? AND held = ? AND captured = ? AND pooled = ? AND lines = ?"
)

// upsertUnchained is for the table of a release without chains.
const upsertUnchained = `INSERT INTO accounts (topped_up, held, captured, pooled, service, agent_id, currency) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, agent_id, currency) DO UPDATE SET topped_up = excluded.topped_up, held = excluded.held,
		captured = excluded.captured, pooled = excluded.pooled`

func (b *Book) readAccount(k AccountKey) []engine.Command {
	a := &row{now: Account{AccountKey: k}}
	b.accounts[k] = a
	if was, found := b.cache.account(k); found {
		*a = row{now: was, was: was, found: true}
		return nil
	}
	return []engine.Command{{Query: selectAccount, Args: []any{k.Service, k.AgentID, k.Currency}, Row: func(scan engine.Scan) error {
		var pooled int64
		var head []byte
		err := scan(&a.now.ToppedUp, &a.now.Held, &a.now.Captured, &pooled, &a.now.Lines, &head)
		a.now.Pooled, a.now.Head, a.found = pooled != 0, evidence.HashOf(head), true
		a.was = a.now
		return err
	}}}
}

// account returns an account. A missing account is empty.
func (b *Book) account(ctx context.Context, k AccountKey) (Account, error) {
	if b.accounts[k] == nil {
		if err := b.t.Send(ctx, b.readAccount(k)); err != nil {
			return Account{}, err
		}
	}
	return b.accounts[k].now, nil
}

// ErrBalance means that an account would fall below zero.
var ErrBalance = errors.New("the account would fall below zero")

// set changes an account, and the debt of its pool accordingly. The error wraps ErrBalance if a sum of the account would be negative.
func (b *Book) set(before, after Account) error {
	if after.Held < 0 || after.Captured < 0 || after.ToppedUp < 0 {
		return engine.Unavailable(fmt.Errorf("account of %s in %s: %w", after.AgentID, after.Currency, ErrBalance))
	}
	a := b.accounts[after.AccountKey]
	a.now, a.dirty = after, true
	if more := after.inPool() - before.inPool(); more != 0 {
		b.owed[PoolKey{after.Service, after.Currency}] += more
	}
	return nil
}

// WriteAccounts returns the statements that write the changed accounts, in the order in which all writers lock them. A missing row is
// inserted; if another writer has inserted it first, the statement fails and the transaction is retried.
func (b *Book) WriteAccounts() (list []engine.Command) {
	for _, k := range slices.SortedFunc(maps.Keys(b.accounts), AccountKey.Compare) {
		if a := b.accounts[k]; a.dirty {
			list = append(list, b.writeAccount(a))
		}
	}
	return list
}

func (b *Book) writeAccount(a *row) engine.Command {
	args := a.now.args()
	switch {
	case b.sharing == engine.Exclusive:
		return engine.Command{Query: insertAccount + orUpdateAccount, Args: args}
	case !a.found:
		return engine.Command{Query: insertAccount, Args: args}
	case b.t.Locking() == engine.Pessimistic:
		return engine.Command{Query: updateAccount, Args: args}
	}
	was := a.was
	return engine.Command{
		Query: updateAccountFrom, Args: append(args, was.ToppedUp, was.Held, was.Captured, engine.Flag(was.Pooled), was.Lines), Must: 1,
	}
}

// Upsert returns the statement that writes an account. No other process may write at the same time. If chained is false, the statement is
// for the tables of a release without chains.
func (a Account) Upsert(chained bool) engine.Command {
	if !chained {
		return engine.Command{Query: upsertUnchained, Args: []any{
			a.ToppedUp, a.Held, a.Captured, engine.Flag(a.Pooled), a.Service, a.AgentID, a.Currency,
		}}
	}
	return engine.Command{Query: insertAccount + orUpdateAccount, Args: a.args()}
}

// args returns the arguments of the statements that write the account.
func (a Account) args() []any {
	return []any{
		a.ToppedUp, a.Held, a.Captured, engine.Flag(a.Pooled), a.Lines, blob(a.Head), a.Service, a.AgentID, a.Currency,
	}
}

// A Cache holds the accounts and pools of the only writer of a database, as its last transaction left them. The nil Cache is empty.
type Cache struct {
	accounts map[AccountKey]Account
	pools    map[PoolKey]Pool
}

func (c *Cache) account(k AccountKey) (a Account, found bool) {
	if c != nil {
		a, found = c.accounts[k]
	}
	return a, found
}

func (c *Cache) pool(k PoolKey) (p Pool, found bool) {
	if c != nil {
		p, found = c.pools[k]
	}
	return p, found
}

// Len returns how many accounts are cached.
func (c *Cache) Len() int { return len(c.accounts) }

// Learn caches the rows that a committed transaction has read and written.
func (c *Cache) Learn(b *Book, pools []Pool) {
	if c.accounts == nil {
		c.accounts, c.pools = map[AccountKey]Account{}, map[PoolKey]Pool{}
	}
	for k, a := range b.accounts {
		if a.found || a.dirty {
			c.accounts[k] = a.now
		}
	}
	for _, p := range pools {
		c.pools[p.PoolKey] = p
	}
}

// Forget drops everything.
func (c *Cache) Forget() { *c = Cache{} }
