package calls

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// Settle ends a call that Begin admitted. It changes the record, if there is one. If the outcome is store.NotSent, it also releases the
// units of limits that still count, and deletes the idempotency key, so that the agent can retry. If the charge is released, it also gives
// back the units of the budget that the charge took. If the execution was already settled, Settle returns the record in its present state
// and store.ErrSettled. For a call without a record, Settle must be called at most once, because a second call cannot be detected. The
// answer is stored only if the call has an idempotency key and the answer is within the limits.
//
// If another Begin has recorded an execution with the same id, Settle leaves that record as it is and returns store.ErrNotFound.
func (c *Calls) Settle(ctx context.Context, b store.Admission, to store.Settlement) (store.Execution, error) {
	return c.settle(ctx, b, to, true)
}

// settle implements Settle. recorded reports whether Begin certainly committed the record; if not, settle reads the record before it
// changes it.
func (c *Calls) settle(ctx context.Context, b store.Admission, to store.Settlement, recorded bool) (store.Execution, error) {
	e := b.Execution
	if err := checkSettlement(to); err != nil {
		return store.Execution{}, fmt.Errorf("settling execution %s: %w", e.ID, err)
	}
	var back []store.CounterSlot
	switch {
	case to.Outcome == store.NotSent:
		back = b.Taken
	case to.State == store.Released:
		back = spent(b.Taken)
	}
	if !b.Recorded {
		e.State, e.Outcome = to.State, to.Outcome
		if to.State != store.Unresolved {
			e.SettledAt = c.db.Now()
		}
		if len(back) == 0 {
			return e, nil
		}
	}
	n := rowSet{agentID: string(e.AgentID)}
	for _, slot := range back {
		n.counters = append(n.counters, CounterKey{e.Service, string(slot.Principal), slot.LimitID, slot.Period})
	}
	if !b.Recorded {
		return e, c.call(ctx, n, func(_ context.Context, w *work) error {
			w.give(e.Service, back)
			return nil
		})
	}
	if recorded && e.State == store.Held && e.Deadline.After(c.db.Counted()) {
		n.cached = append(n.cached, &e)
	} else {
		n.executions = []ref{{e.Service, e.ID}}
	}
	if e.Charge.Nano > 0 {
		n.accounts = append(n.accounts, ledger.AccountKey{Service: e.Service, AgentID: string(e.AgentID), Currency: e.Charge.Currency})
	}
	if e.IdempotencyKey != "" && to.Answer != nil {
		n.answers = []ref{{e.Service, string(e.AgentID)}}
	}
	var result store.Execution
	err := c.call(ctx, n, func(ctx context.Context, w *work) (err error) {
		result, err = w.settle(ctx, &e, to, back)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrSettled) {
		return store.Execution{}, err
	}
	return result, err
}

// settle ends a call that has a record. began is the execution as Begin recorded it. Several Begins can have the same id, that of a task;
// their times distinguish them.
func (w *work) settle(ctx context.Context, began *store.Execution, to store.Settlement, back []store.CounterSlot) (store.Execution, error) {
	service, id := began.Service, began.ID
	e, err := w.execution(ctx, service, id)
	if err != nil {
		return store.Execution{}, err
	}
	if !e.BeganAt.Equal(began.BeganAt) {
		w.t.Confirm()
		return store.Execution{}, store.ErrNotFound
	}
	if e.State != store.Held && (e.State != store.Unresolved || to.State == store.Unresolved) {
		w.t.Confirm()
		return e, store.ErrSettled
	}
	if e, err = w.move(ctx, e, to, ledger.ByAgent); err != nil {
		return store.Execution{}, err
	}
	w.give(service, back)
	if to.Outcome == store.NotSent {
		if e.IdempotencyKey == "" {
			return e, nil
		}
		return e, w.forgetKey(ctx, id)
	}
	if to.Answer == nil || e.IdempotencyKey == "" || to.State == store.Unresolved {
		return e, nil
	}
	a, of := *to.Answer, ref{e.Service, string(e.AgentID)}
	a.Message, a.Details = strings.ToValidUTF8(a.Message, ""), []byte(strings.ToValidUTF8(string(a.Details), ""))
	if !w.keeps(of, &a) {
		return e, nil
	}
	e.Answer = to.Answer
	w.found.executions[id].Answer = &a
	w.addAnswer(of, int64(a.Size()))
	return e, w.write(ctx, insertAnswer, id, engine.Blob(a.Output), string(a.Reason), string(a.Code), a.Message, string(a.Details), a.Size())
}

func checkSettlement(to store.Settlement) error {
	switch to.State {
	case store.Captured, store.Released, store.Unresolved:
	default:
		return fmt.Errorf("state %q does not end a call", to.State)
	}
	switch to.Outcome {
	case store.NotSent:
		if to.State != store.Released {
			return fmt.Errorf("a call that was not sent must be released, not %s", to.State)
		}
	case store.Failed, store.Done, store.Unknown:
	default:
		return fmt.Errorf("%q is not an outcome", to.Outcome)
	}
	return nil
}

// execution returns a record that is going to be changed, without its answer, or store.ErrNotFound if there is none.
func (w *work) execution(ctx context.Context, service, id string) (store.Execution, error) {
	if w.mode == single {
		if e, found := engine.Record(ctx, w.t, scanExecution, selectExecution, id, service); found {
			w.found.executions[id] = &e
		}
	}
	if e := w.found.executions[id]; e != nil && e.Service == service {
		return *e, nil
	}
	return store.Execution{}, store.ErrNotFound
}

// forgetKey deletes the idempotency key and the answer of an execution. The key can then be used again.
func (w *work) forgetKey(ctx context.Context, id string) error {
	for k, of := range w.found.keys {
		if of.id == id {
			delete(w.found.keys, k)
		}
	}
	err := w.forgetAnswer(ctx, id)
	if err == nil {
		err = w.write(ctx, deleteKey, id, id)
	}
	return err
}

// move changes the state of an execution: the record, the account and the ledger.
func (w *work) move(ctx context.Context, e store.Execution, to store.Settlement, by string) (store.Execution, error) {
	from := e.State
	e.State, e.Outcome, e.Entry = to.State, to.Outcome, nil
	if to.State == store.Unresolved {
		e.UnresolvedAt = w.t.Now()
	} else {
		e.SettledAt = w.t.Now()
	}
	m := ledger.Line{Execution: &e, From: from, By: by}
	if to.State == store.Captured {
		m.Sent, m.Form = to.Sent, to.Form
	}
	text, err := w.book.Move(ctx, m)
	if err != nil {
		if errors.Is(err, ledger.ErrBalance) { // the held amount was already released
			return e, w.mismatch(err)
		}
		return e, err
	}
	w.found.executions[e.ID] = &e
	if w.calls.memory.journal != nil {
		w.calls.memory.journal.Changed(e.ID)
	}
	result := e
	result.Entry = bytes.Clone(text)
	if w.mode == single {
		c := writeMove([]ledger.Line{m})
		return result, w.write(ctx, c.Query, c.Args...)
	}
	w.changes.moves = append(w.changes.moves, m)
	return result, nil
}
