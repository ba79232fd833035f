// Package ledger stores the payments and the charges of agents: accounts, pools of unapproved agents, ledger entries and top-ups. It also
// computes statements.
package ledger

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A Ledger stores accounts and their entries. Each account is the sum of its entries.
type Ledger struct {
	Epochs Epochs        // read with Epochs.Read
	Salt   func() []byte // makes the salt of an entry

	db *engine.DB
}

// New returns the ledger of a database.
func New(db *engine.DB) *Ledger { return &Ledger{db: db, Salt: newSalt} }

func (l *Ledger) book(t *engine.Tx) *Book { return NewBook(t, l.db.Sharing(), &l.Epochs, nil) }

// Ledger returns entries, the newest first. If the filter names a service and an agent, entries are ordered by time, and otherwise by
// commit.
func (l *Ledger) Ledger(ctx context.Context, f store.Filter) ([]store.Entry, error) {
	var q engine.Conditions
	q.Equal("service", f.Service)
	q.Equal("agent_id", string(f.AgentID))
	q.Equal("to_state", string(f.State))
	last := "ORDER BY seq DESC"
	ofAgent := f.Service != "" && f.AgentID != ""
	if ofAgent {
		last = "ORDER BY at DESC, seq DESC" // as in the index
	}
	if f.After != "" {
		seq, err := strconv.ParseInt(f.After, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("listing the ledger: %q is not an entry number", f.After)
		}
		if ofAgent { // the entry itself may have been deleted
			var at int64
			found, err := l.db.One(ctx, "SELECT at FROM ledger WHERE seq <= ? ORDER BY seq DESC LIMIT 1", []any{seq}, &at)
			if err != nil || !found {
				return nil, err
			}
			q.Add("(at, seq) < (?, ?)", at, seq)
		} else {
			q.Add("seq < ?", seq)
		}
	}
	q.Add("kind = ''")
	const columns = "seq, at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, to_state, actor, reference"
	query := q.Query("SELECT "+columns+" FROM ledger", last, f.Limit)
	return engine.All(ctx, l.db, query, q.Args, func(scan engine.Scan) (e store.Entry, err error) {
		err = scan(&e.Seq, engine.Stored(&e.At), &e.Service, &e.AgentID, &e.ExecutionID, &e.Intent, &e.Rule, &e.Amount.Nano,
			&e.Amount.Currency, &e.From, &e.To, &e.By, &e.Reference)
		return e, err
	})
}

// TopUp adds an amount to the balance of an agent or, if u.Reverse is set, takes back an amount that was topped up. repeated reports that
// the same top-up was made before, under the same reference; nothing was changed then. The error wraps money.ErrAmount if the amount is not
// positive or the balance would be out of range, and store.ErrReferenceUsed if another top-up has the reference.
func (l *Ledger) TopUp(ctx context.Context, u store.TopUp) (repeated bool, err error) {
	if u.Amount.Nano <= 0 || u.Amount.Currency == "" {
		return false, fmt.Errorf("topping up %s by %s: %w", u.AgentID, u.Amount, money.ErrAmount)
	}
	salt := l.Salt()
	err = l.db.Update(ctx, func(ctx context.Context, t *engine.Tx) (err error) {
		repeated, err = l.book(t).topUp(ctx, u, salt)
		return err
	})
	return repeated && err == nil, err
}

// topUp makes a top-up, unless the ledger already contains it. It must be the last operation of the Book.
func (b *Book) topUp(ctx context.Context, u store.TopUp, salt []byte) (repeated bool, err error) {
	entered := u.Amount
	if u.Reverse {
		entered.Nano = -entered.Nano
	}
	// Lock the account first: concurrent top-ups of an agent with the same reference wait here.
	before, err := b.account(ctx, AccountKey{u.Service, string(u.AgentID), u.Amount.Currency})
	if err != nil {
		return false, err
	}
	if repeated, err = referenced(ctx, b.t, u, entered); err != nil || repeated {
		return repeated, err
	}
	after := before
	switch {
	case u.Reverse && entered.Nano < -before.ToppedUp:
		return false, fmt.Errorf("reversing a top-up of %s: the amount is more than was topped up: %w", u.AgentID, money.ErrAmount)
	case entered.Nano > math.MaxInt64-before.ToppedUp:
		return false, fmt.Errorf("topping up %s: the balance would be too large: %w", u.AgentID, money.ErrAmount)
	}
	after.ToppedUp += entered.Nano
	if err := b.set(before, after); err != nil {
		return false, err
	}
	return false, b.enterTopUp(ctx, u, entered, salt)
}

// referenced reports whether the ledger already contains this top-up. The error is store.ErrReferenceUsed if it contains a different top-up
// with the reference.
func referenced(ctx context.Context, t *engine.Tx, u store.TopUp, entered money.Amount) (bool, error) {
	if u.Reference == "" {
		return false, nil
	}
	var agent pat.AgentID
	var was money.Amount
	found := t.Find(ctx, "SELECT agent_id, amount, currency FROM ledger WHERE service = ? AND reference = ? AND reference <> ''",
		[]any{u.Service, u.Reference}, &agent, &was.Nano, &was.Currency)
	if found && (agent != u.AgentID || was != entered) {
		return false, store.ErrReferenceUsed
	}
	return found, nil
}

// A topUpLine is a top-up, with the amount of its entry and its salt.
type topUpLine struct {
	store.TopUp
	entered money.Amount // below zero for a reversal
	salt    []byte
}

// enterTopUp is enterTopUps for one top-up.
func (b *Book) enterTopUp(ctx context.Context, u store.TopUp, entered money.Amount, salt []byte) error {
	return b.enterTopUps(ctx, topUpLine{u, entered, salt})
}

// enterTopUps adds top-ups of different accounts to the ledger and to the chains of their accounts, and writes the accounts. It writes the
// accounts first, as calls do: if another process has created one in the meantime, the transaction is retried.
func (b *Book) enterTopUps(ctx context.Context, list ...topUpLine) error {
	now := b.t.Now()
	places := make([]Place, len(list))
	for i, u := range list {
		k, epoch := AccountKey{u.Service, string(u.AgentID), u.entered.Currency}, b.epochs.Of(u.Service)
		places[i] = b.next(k, epoch)
		e := topUpEntry(places[i], epoch.Issuer, k, u.entered, now, u.Reference, u.salt)
		places[i].Leaf = b.link(k, e.Append(nil))
	}
	if err := b.Write(ctx); err != nil {
		return err
	}
	for i, u := range list {
		c := places[i]
		if b.t.Run(ctx, `INSERT INTO ledger (seq, at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, `+
			`to_state, actor, reference, epoch, k, prev, leaf, salt)
			VALUES ({ledger}, ?, ?, ?, '', '', '', ?, ?, '', '', ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (service, reference) WHERE reference <> '' DO NOTHING`,
			engine.Nanos(now), u.Service, u.AgentID, u.entered.Nano, u.entered.Currency, ByOperator, u.Reference, c.Epoch, c.K, blob(c.Prev),
			blob(c.Leaf), engine.Blob(u.salt)) == 0 { // a concurrent top-up of another agent used the reference
			return store.ErrReferenceUsed
		}
	}
	return nil
}

// Accounts returns accounts, ordered by agent and currency. If the filter names no service, Accounts adds up the accounts of all services.
// Filter.After is an agent id, or an agent id, a space and a currency.
func (l *Ledger) Accounts(ctx context.Context, f store.Filter) ([]store.Account, error) {
	var q engine.Conditions
	q.Equal("service", f.Service)
	q.Equal("agent_id", string(f.AgentID))
	if agent, currency, both := strings.Cut(f.After, " "); both {
		q.Add("(agent_id, currency) > (?, ?)", agent, currency)
	} else if agent != "" {
		q.Add("agent_id > ?", agent)
	}
	if below := f.BalanceBelow; below.Currency != "" {
		q.Add("currency = ? AND topped_up - held - captured < ?", below.Currency, below.Nano)
	}
	const sums = "SELECT agent_id, currency, SUM(topped_up), SUM(held), SUM(captured) FROM accounts"
	query := q.Query(sums, "GROUP BY agent_id, currency ORDER BY agent_id, currency", f.Limit)
	return engine.All(ctx, l.db, query, q.Args, func(scan engine.Scan) (a store.Account, err error) {
		err = scan(&a.AgentID, &a.Currency, &a.ToppedUp.Nano, &a.Held.Nano, &a.Captured.Nano)
		a.ToppedUp.Currency, a.Held.Currency, a.Captured.Currency = a.Currency, a.Currency, a.Currency
		return a, err
	})
}
