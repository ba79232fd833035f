package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A Book holds the accounts, pools and entries that operations change in one transaction, as they will be when it ends.
type Book struct {
	t        *engine.Tx
	sharing  engine.Sharing
	cache    *Cache // nil: everything is read
	accounts map[AccountKey]*row
	pools    map[PoolKey]*pool
	owed     map[PoolKey]int64 // what is to be added to a pool
	lines    []Line
}

// A row is an account in a transaction.
type row struct {
	now   Account
	was   Account // as it was read
	found bool    // the row exists
	dirty bool
}

// NewBook returns the empty book of a transaction.
func NewBook(t *engine.Tx, sharing engine.Sharing, cache *Cache) *Book {
	return &Book{
		t: t, sharing: sharing, cache: cache,
		accounts: map[AccountKey]*row{}, pools: map[PoolKey]*pool{}, owed: map[PoolKey]int64{},
	}
}

// A Line is a change of an execution that charges: an entry of the ledger.
type Line struct {
	// Execution is the record as it became. Nothing of it that an entry has changes any more.
	*store.Execution

	From store.State // empty: it began
	By   string
}

// At returns when the change took place.
func (l Line) At() time.Time {
	switch {
	case l.From == "":
		return l.BegunAt
	case l.State == store.Unresolved:
		return l.UnresolvedAt
	default:
		return l.SettledAt
	}
}

// The origin of a change of an execution, in the ledger.
const (
	ByAgent    = "agent"
	BySweeper  = "sweeper"
	ByService  = "service"
	ByOperator = "operator"
)

const (
	selectAccount   = "SELECT topped_up, held, captured, pooled FROM accounts WHERE service = ? AND agent_id = ? AND currency = ? FOR UPDATE"
	insertAccount   = "INSERT INTO accounts (topped_up, held, captured, pooled, service, agent_id, currency) VALUES (?, ?, ?, ?, ?, ?, ?)"
	orUpdateAccount = ` ON CONFLICT (service, agent_id, currency) DO UPDATE SET topped_up = excluded.topped_up, held = excluded.held,
		captured = excluded.captured, pooled = excluded.pooled`
	updateAccount     = "UPDATE accounts SET topped_up = ?, held = ?, captured = ?, pooled = ? WHERE service = ? AND agent_id = ? AND currency = ?"
	updateAccountFrom = updateAccount + " AND topped_up = ? AND held = ? AND captured = ? AND pooled = ?"
	insertEntry       = "INSERT INTO ledger (seq, at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, to_state, actor) " +
		"VALUES ({ledger} - ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

// Read returns the statements that read accounts and pools, but for those that are known.
func (b *Book) Read(accounts []AccountKey, pools []PoolKey) []engine.Command {
	list := make([]engine.Command, 0, len(accounts)+len(pools))
	for _, k := range accounts {
		list = append(list, b.readAccount(k)...)
	}
	for _, k := range pools {
		list = append(list, b.readPool(k)...)
	}
	return list
}

func (b *Book) readAccount(k AccountKey) []engine.Command {
	a := &row{now: Account{AccountKey: k}}
	b.accounts[k] = a
	if was, found := b.cache.account(k); found {
		*a = row{now: was, was: was, found: true}
		return nil
	}
	return []engine.Command{{Query: selectAccount, Args: []any{k.Service, k.AgentID, k.Currency}, Row: func(scan engine.Scan) error {
		var pooled int64
		err := scan(&a.now.ToppedUp, &a.now.Held, &a.now.Captured, &pooled)
		a.now.Pooled, a.found = pooled != 0, true
		a.was = a.now
		return err
	}}}
}

// account returns an account; a missing one is empty.
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

// set changes an account, and its pool accordingly.
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

// A Charge is an account before and after it.
type Charge struct{ before, after Account }

// Price checks that an amount can be charged to an agent: store.ErrCredit if it cannot. It changes nothing.
func (b *Book) Price(ctx context.Context, service, agentID string, amount money.Amount, billing store.Billing) (Charge, error) {
	before, err := b.account(ctx, AccountKey{service, agentID, amount.Currency})
	if err != nil {
		return Charge{}, err
	}
	after, ok := before.hold(amount, billing)
	if !ok {
		return Charge{}, store.ErrCredit
	}
	if more := after.inPool() - before.inPool(); more > 0 {
		err = b.enterPool(ctx, PoolKey{service, amount.Currency}, more, credit(amount.Currency, billing))
	}
	return Charge{before, after}, err
}

// Hold charges.
func (b *Book) Hold(c Charge) error {
	if c.before == c.after {
		return nil
	}
	return b.set(c.before, c.after)
}

// Move ends what an execution holds, unless it became unresolved, and enters the change.
func (b *Book) Move(ctx context.Context, l Line) error {
	if l.Charge.Nano > 0 && l.State != store.Unresolved {
		before, err := b.account(ctx, AccountKey{l.Service, string(l.AgentID), l.Charge.Currency})
		if err != nil {
			return err
		}
		after := before
		after.Held -= l.Charge.Nano
		if l.State == store.Captured {
			after.Captured += l.Charge.Nano
		}
		if err := b.set(before, after); err != nil {
			return err
		}
	}
	b.Enter(l)
	return nil
}

// Enter adds a line to the ledger; calls without a charge have none.
func (b *Book) Enter(l Line) {
	if l.Charge.Nano != 0 {
		b.lines = append(b.lines, l)
	}
}

// Lines returns what was entered.
func (b *Book) Lines() []Line { return b.lines }

// WriteAccounts returns the statements that write the accounts that have changed, in the order in which all writers lock them. A row that
// was missing is inserted: where another writer was faster that fails, and the transaction is tried again.
func (b *Book) WriteAccounts() (list []engine.Command) {
	for _, k := range slices.SortedFunc(maps.Keys(b.accounts), AccountKey.Compare) {
		if a := b.accounts[k]; a.dirty {
			list = append(list, b.writeAccount(a))
		}
	}
	return list
}

func (b *Book) writeAccount(a *row) engine.Command {
	args := []any{
		a.now.ToppedUp, a.now.Held, a.now.Captured, engine.Flag(a.now.Pooled), a.now.Service, a.now.AgentID, a.now.Currency,
	}
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
		Query: updateAccountFrom, Args: append(args, was.ToppedUp, was.Held, was.Captured, engine.Flag(was.Pooled)), Must: 1,
	}
}

// WritePools returns the statements that write what pools owe more or less.
func (b *Book) WritePools() (list []engine.Command) {
	for _, k := range slices.SortedFunc(maps.Keys(b.owed), PoolKey.Compare) {
		list = append(list, b.writePool(k))
	}
	return list
}

// Upsert returns the statement that writes an account where no other process writes.
func (a Account) Upsert() engine.Command {
	return engine.Command{Query: insertAccount + orUpdateAccount, Args: []any{
		a.ToppedUp, a.Held, a.Captured, engine.Flag(a.Pooled), a.Service, a.AgentID, a.Currency,
	}}
}

// WriteLines returns the statements that write lines of the ledger, with the next numbers.
func WriteLines(lines []Line) []engine.Command {
	if len(lines) == 0 {
		return nil
	}
	rows := make([]engine.Command, len(lines))
	for i, l := range lines {
		rows[i] = engine.Command{Query: insertEntry, Args: []any{
			int64(len(lines) - 1 - i), engine.Nanos(l.At()), l.Service, string(l.AgentID), l.ID, l.Intent, l.Rule,
			l.Charge.Nano, l.Charge.Currency, string(l.From), string(l.State), l.By,
		}}
	}
	return append([]engine.Command{{Query: engine.BumpLedger, Args: []any{len(lines)}}}, engine.Together(rows)...)
}

// Write writes everything that has changed, at the end of an operation.
func (b *Book) Write(ctx context.Context) error {
	list := append(b.WriteAccounts(), b.WritePools()...)
	return b.t.Write(ctx, append(list, WriteLines(b.lines)...))
}

// Changed returns the accounts and pools that have changed, as they will be.
func (b *Book) Changed(ctx context.Context) (accounts []Account, pools []Pool, err error) {
	for _, a := range b.accounts {
		if a.dirty {
			accounts = append(accounts, a.now)
		}
	}
	for k := range b.owed {
		if b.pools[k] == nil {
			if err := b.t.Send(ctx, b.readPool(k)); err != nil {
				return nil, nil, err
			}
		}
		pools = append(pools, b.becomes(k))
	}
	return accounts, pools, nil
}

// A Cache is what the only writer of a database knows of its accounts and pools: as its last transaction left them. The nil Cache knows
// nothing.
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

// Len returns how many accounts are known.
func (c *Cache) Len() int { return len(c.accounts) }

// Learn keeps what a transaction has read and written, once it is committed.
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

// Compare orders keys as all writers lock them.
func (k AccountKey) Compare(o AccountKey) int {
	return cmp.Or(strings.Compare(k.Service, o.Service), strings.Compare(k.AgentID, o.AgentID), strings.Compare(k.Currency, o.Currency))
}

// Compare orders keys as all writers lock them.
func (k PoolKey) Compare(o PoolKey) int {
	return cmp.Or(strings.Compare(k.Service, o.Service), strings.Compare(k.Currency, o.Currency))
}
