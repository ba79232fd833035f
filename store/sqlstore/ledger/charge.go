package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Read returns the statements that read accounts and pools, except those in the cache.
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

// A Charge holds the state of an account before and after the account is charged.
type Charge struct{ before, after Account }

// Price checks that an amount can be charged to an agent, and returns the charge for Hold. The error is a *store.CreditError if the agent,
// or all unapproved agents together, would owe too much. Price does not change the account.
func (b *Book) Price(ctx context.Context, service, agentID string, amount money.Amount, billing store.Billing) (Charge, error) {
	before, err := b.account(ctx, AccountKey{service, agentID, amount.Currency})
	if err != nil {
		return Charge{}, err
	}
	after, ok := before.hold(amount, billing)
	if !ok {
		return Charge{}, before.short(amount, billing, false)
	}
	if more := after.inPool() - before.inPool(); more > 0 {
		wait, err := b.enterPool(ctx, PoolKey{service, amount.Currency}, more, billing.CommonLimit(amount.Currency).Nano)
		if errors.Is(err, store.ErrCredit) {
			short := before.short(amount, billing, true)
			short.RetryAfter = wait
			err = short
		}
		return Charge{before, after}, err
	}
	return Charge{before, after}, nil
}

// Hold applies a charge that Price returned.
func (b *Book) Hold(c Charge) error {
	if c.before == c.after {
		return nil
	}
	return b.set(c.before, c.after)
}

// Move adds the new state of an execution to the ledger, and returns the bytes of its entry, as Enter does. If the state is captured or
// released, Move also captures or releases the amount that the execution holds.
func (b *Book) Move(ctx context.Context, l Line) ([]byte, error) {
	if l.Charge.Nano > 0 && l.State != store.Unresolved {
		before, err := b.account(ctx, AccountKey{l.Service, string(l.AgentID), l.Charge.Currency})
		if err != nil {
			return nil, err
		}
		after := before
		after.Held -= l.Charge.Nano
		if l.State == store.Captured {
			after.Captured += l.Charge.Nano
		}
		if err := b.set(before, after); err != nil {
			return nil, err
		}
	}
	return b.Enter(ctx, l)
}

// Lines returns the entered lines.
func (b *Book) Lines() []Line { return b.lines }

// WritePools returns the statements that write the pools whose debt has changed.
func (b *Book) WritePools() (list []engine.Command) {
	for _, k := range slices.SortedFunc(maps.Keys(b.owed), PoolKey.Compare) {
		list = append(list, b.writePool(k))
	}
	return list
}

// Write writes everything that has changed, at the end of an operation.
func (b *Book) Write(ctx context.Context) error {
	list := append(b.WriteAccounts(), b.WritePools()...)
	return b.t.Write(ctx, append(list, WriteLines(b.lines)...))
}

// Changed returns the accounts and pools that have changed, with their new values.
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
