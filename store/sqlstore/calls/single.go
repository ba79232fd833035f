package calls

import (
	"context"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// change runs an operation that reads rows as it needs them, and then writes the changes of the operation, all in one transaction.
func (c *Calls) change(ctx context.Context, run func(context.Context, *work) error) error {
	return c.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error { return c.within(ctx, t, run) })
}

// within is like change, inside a transaction.
func (c *Calls) within(ctx context.Context, t *engine.Tx, run func(context.Context, *work) error) error {
	w := c.newWork(t, single)
	if err := run(ctx, w); err != nil {
		return err
	}
	return t.Write(ctx, w.statements())
}

// Find returns a record that is going to be deleted, without its answer, or store.ErrNotFound if there is none.
func (c *Calls) Find(ctx context.Context, t *engine.Tx, service, id string) (store.Execution, error) {
	return c.newWork(t, single).execution(ctx, service, id)
}

// ForgetKey deletes the idempotency key of an execution, and its answer.
func (c *Calls) ForgetKey(ctx context.Context, t *engine.Tx, id string) error {
	return c.within(ctx, t, func(ctx context.Context, w *work) error { return w.forgetKey(ctx, id) })
}
