package storetest

import (
	"context"
	"fmt"
	"strconv"

	"github.com/uimgate/uimgate/store"
)

// ledger reads the whole ledger in pages, oldest entries first.
func ledger(ctx context.Context, e Engine) ([]store.Entry, error) {
	var out []store.Entry
	f := store.Filter{Limit: 1000}
	for {
		page, err := e.Ledger(ctx, f)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if len(page) < f.Limit {
			break
		}
		f.After = strconv.FormatInt(page[len(page)-1].Seq, 10)
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out, nil
}

// executions reads all executions, in pages.
func executions(ctx context.Context, e Engine) (map[string]store.Execution, error) {
	out := map[string]store.Execution{}
	f := store.Filter{Limit: 1000}
	for {
		page, err := e.Executions(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, x := range page {
			out[x.ID] = x
		}
		if len(page) < f.Limit {
			return out, nil
		}
		f.After = page[len(page)-1].ID
	}
}

type accountKey struct{ agentID, currency string }

// checkLedger checks that the accounts are the sums over the ledger, and that the entries of each execution form one
// path that ends with the execution's state.
func checkLedger(ctx context.Context, e Engine) error {
	entries, err := ledger(ctx, e)
	if err != nil {
		return err
	}
	sums := map[accountKey]*store.Account{}
	last := map[string]store.Entry{}
	var seq int64
	for _, n := range entries {
		if n.Seq <= seq {
			return fmt.Errorf("ledger entry %d comes after %d", n.Seq, seq)
		}
		seq = n.Seq
		k := accountKey{string(n.AgentID), n.Amount.Currency}
		if sums[k] == nil {
			sums[k] = &store.Account{}
		}
		a := sums[k]
		if n.From == "" && n.To == "" {
			a.ToppedUp.Nano += n.Amount.Nano
			continue
		}
		before, seen := last[n.ExecutionID]
		if seen != (n.From != "") || seen && (before.To != n.From || before.Amount != n.Amount) {
			return fmt.Errorf("ledger entry %+v does not follow %+v", n, before)
		}
		last[n.ExecutionID] = n
		add(a, n.From, -n.Amount.Nano)
		add(a, n.To, n.Amount.Nano)
	}
	executions, err := executions(ctx, e)
	if err != nil {
		return err
	}
	for id, n := range last {
		x, kept := executions[id]
		if !kept {
			return fmt.Errorf("execution %s is in the ledger, but was not found", id)
		}
		if x.State != n.To || x.Charge != n.Amount || x.AgentID != n.AgentID || x.Rule != n.Rule || x.Intent != n.Intent {
			return fmt.Errorf("execution %+v, ledger %+v", x, n)
		}
	}
	if err := e.CheckBalance(ctx); err != nil {
		return err
	}
	return compareAccounts(ctx, e, sums)
}

func add(a *store.Account, s store.State, nano int64) {
	switch s {
	case store.Held, store.Unresolved:
		a.Held.Nano += nano
	case store.Captured:
		a.Captured.Nano += nano
	default:
	}
}

func compareAccounts(ctx context.Context, e Engine, sums map[accountKey]*store.Account) error {
	seen := 0
	f := store.Filter{Limit: 2} // small pages, so that there are several
	for {
		page, err := e.Accounts(ctx, f)
		if err != nil {
			return err
		}
		for _, a := range page {
			s := sums[accountKey{string(a.AgentID), a.Currency}]
			if s == nil {
				s = &store.Account{}
			} else {
				seen++
			}
			if a.ToppedUp.Nano != s.ToppedUp.Nano || a.Held.Nano != s.Held.Nano || a.Captured.Nano != s.Captured.Nano {
				return fmt.Errorf("account %+v; the ledger adds up to %+v", a, *s)
			}
		}
		if len(page) < f.Limit {
			break
		}
		a := page[len(page)-1]
		f.After = string(a.AgentID) + " " + a.Currency
	}
	if seen != len(sums) {
		return fmt.Errorf("%d accounts; the ledger has %d", seen, len(sums))
	}
	return nil
}
