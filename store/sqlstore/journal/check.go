package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// Check implements calls.Journal. Each account in the journal must be the account in the table plus the changes of its pending lines.
// Executions that began must not be in the table. Executions that changed must be in the table in their previous state. Check reads
// everything in the snapshot of reader.
func (j *Journal) Check(ctx context.Context, reader *engine.Reader) (calls.Unwritten, error) {
	var p PendingChanges
	for effects := range engine.Values[[]byte](ctx, reader, selectRecords) {
		switch err := addRecord(&p, effects); {
		case errors.Is(err, ErrDamaged):
			return calls.Unwritten{}, fmt.Errorf("%w: %w", engine.ErrDamaged, err)
		case err != nil:
			return calls.Unwritten{}, engine.Unavailable(err)
		}
	}
	if err := checkChains(&p); err != nil {
		return calls.Unwritten{}, err
	}
	if err := checkAccounts(ctx, reader, &p); err != nil {
		return calls.Unwritten{}, err
	}
	return count(&p), checkExecutions(ctx, reader, &p)
}

// checkChains checks that the pending lines of each account follow each other in its chain.
func checkChains(p *PendingChanges) error {
	last := map[ledger.AccountKey]ledger.Place{}
	for _, l := range p.Lines {
		k := ledger.AccountKey{Service: l.Service, AgentID: string(l.AgentID), Currency: l.Charge.Currency}
		if before, found := last[k]; found && l.K >= 0 && (l.K != before.K+1 || l.Prev != before.Leaf) {
			return fmt.Errorf("%w: entry %d of agent %q in %s does not follow entry %d", engine.ErrDamaged, l.K, k.AgentID, k.Currency, before.K)
		}
		last[k] = l.Place
	}
	return nil
}

func checkAccounts(ctx context.Context, reader *engine.Reader, p *PendingChanges) error {
	more := map[ledger.AccountKey]ledger.Account{}
	for _, l := range p.Lines {
		k := ledger.AccountKey{Service: l.Service, AgentID: string(l.AgentID), Currency: l.Charge.Currency}
		a := more[k]
		for _, change := range []struct {
			state store.State
			nano  int64
		}{{l.From, -l.Charge.Nano}, {l.State, l.Charge.Nano}} {
			switch change.state {
			case store.Held, store.Unresolved:
				a.Held += change.nano
			case store.Captured:
				a.Captured += change.nano
			case store.Released:
			}
		}
		more[k] = a
	}
	const selectAccount = "SELECT topped_up, held, captured FROM accounts WHERE service = ? AND agent_id = ? AND currency = ?"
	for k, sums := range more {
		var was ledger.Account
		reader.Find(ctx, selectAccount, []any{k.Service, k.AgentID, k.Currency}, &was.ToppedUp, &was.Held, &was.Captured)
		is, changed := p.Accounts[k]
		if !changed { // only records without chains lack the account: a call that becomes unresolved still holds its charge
			is = was
		}
		if is.Held != was.Held+sums.Held || is.Captured != was.Captured+sums.Captured || is.ToppedUp != was.ToppedUp {
			return fmt.Errorf("service %q, agent %q, %s: the account does not include the changes of its last calls: %w",
				k.Service, k.AgentID, k.Currency, store.ErrUnbalanced)
		}
	}
	return nil
}

func checkExecutions(ctx context.Context, reader *engine.Reader, p *PendingChanges) error {
	found := func(id string) (state store.State) {
		reader.Find(ctx, "SELECT state FROM executions WHERE id = ?", []any{id}, &state)
		return state
	}
	for _, e := range p.Begun {
		if found(e.ID) != "" {
			return fmt.Errorf("%w: execution %s began twice", engine.ErrDamaged, e.ID)
		}
	}
	for _, m := range p.Changed {
		if state := found(m.ID); state != m.From {
			return fmt.Errorf("%w: execution %s is %q in its table, but became %s from %s in the journal",
				engine.ErrDamaged, m.ID, state, m.State, m.From)
		}
	}
	return nil
}

func count(p *PendingChanges) calls.Unwritten {
	n := calls.Unwritten{Executions: int64(len(p.Begun)), Entries: int64(len(p.Lines))}
	for _, l := range p.Lines {
		if l.From == store.Unresolved {
			n.Unresolved--
		}
		if l.State == store.Unresolved {
			n.Unresolved++
		}
		if l.At().After(n.Latest) {
			n.Latest = l.At()
		}
	}
	return n
}
