package calls

import (
	"context"
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// Resolve settles an unresolved execution as the operator decided. store.Captured means that the call was executed although its response
// was lost; store.Released permits the idempotency key to be used again. The error is store.ErrNotFound, or store.ErrSettled if the
// execution is not unresolved.
func (c *Calls) Resolve(ctx context.Context, service, id string, to store.State) (store.Execution, error) {
	return c.resolve(ctx, service, id, to, ledger.ByOperator)
}

// Reconcile is like Resolve, for a result that the service behind the gateway reports.
func (c *Calls) Reconcile(ctx context.Context, service, id string, to store.State) (store.Execution, error) {
	return c.resolve(ctx, service, id, to, ledger.ByService)
}

func (c *Calls) resolve(ctx context.Context, service, id string, to store.State, by string) (store.Execution, error) {
	if to != store.Captured && to != store.Released {
		return store.Execution{}, fmt.Errorf("resolving execution %s: want captured or released, not %q", id, to)
	}
	var result store.Execution
	err := c.change(ctx, func(ctx context.Context, w *work) error {
		e, err := w.execution(ctx, service, id)
		if err != nil {
			return err
		}
		if e.State != store.Unresolved {
			return store.ErrSettled
		}
		if to == store.Released {
			if err := w.giveBudget(ctx, e); err != nil {
				return err
			}
		}
		outcome := e.Outcome
		if to == store.Captured {
			outcome = store.Done
		}
		if result, err = w.move(ctx, e, store.Settlement{State: to, Outcome: outcome}, by); err != nil || to == store.Captured {
			return err
		}
		return w.forgetKey(ctx, id)
	})
	if err != nil {
		return store.Execution{}, err
	}
	return result, nil
}

// Sweep marks each held execution as unresolved if its deadline has passed, and returns how many it marked. It works in steps of 100, each
// in a separate transaction.
func (c *Calls) Sweep(ctx context.Context) (int, error) {
	return engine.Steps(engine.StepRows, func() (n int, err error) {
		err = c.change(ctx, func(ctx context.Context, w *work) error {
			n, err = w.sweep(ctx)
			return err
		})
		return n, err
	})
}

func (w *work) sweep(ctx context.Context) (int, error) {
	due := slices.Collect(engine.Records(ctx, w.t, scanExecution, "SELECT "+executionColumns+
		" FROM executions WHERE state = 'held' AND deadline <= ? ORDER BY id LIMIT ? FOR UPDATE SKIP LOCKED",
		engine.Nanos(w.t.Counted()), engine.StepRows))
	for _, e := range due {
		if _, err := w.move(ctx, e, store.Settlement{State: store.Unresolved, Outcome: store.Unknown}, ledger.BySweeper); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}
