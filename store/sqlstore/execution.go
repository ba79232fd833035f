package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/internal/bulk"
)

// The origin of a change of an execution, in the ledger.
const (
	byAgent    = "agent"
	bySweeper  = "sweeper"
	byService  = "service"
	byOperator = "operator"
)

// A began is an execution that began, and when it may be deleted once it is settled; 0: never.
type began struct {
	*store.Execution
	forget int64
}

// insertExecution records one.
const insertExecution = "INSERT INTO executions (" + executionColumns + ", forget_at) " +
	"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

// writeExecutions returns the statements that record executions; j may be nil.
func writeExecutions(j *bulk.Joiner, list []began) []command {
	rows := bulk.NewRows(insertExecution, len(list))
	for _, e := range list {
		rows.Text(e.ID)
		rows.Text(e.Service)
		rows.Text(string(e.AgentID))
		rows.Text(e.IdempotencyKey)
		rows.Text(e.Fingerprint)
		rows.Text(e.Intent)
		rows.Text(string(e.AgreementID))
		rows.Text(string(e.TokenID))
		rows.Text(e.PolicyDigest)
		rows.Text(e.Rule)
		rows.Int(e.Charge.Nano)
		rows.Text(e.Charge.Currency)
		rows.Text(string(e.State))
		rows.Text(string(e.Outcome))
		rows.Int(nanos(e.BegunAt))
		rows.Int(nanos(e.Deadline))
		rows.Int(nanos(e.SettledAt))
		rows.Text(e.ContextID)
		rows.Int(nanos(e.UnresolvedAt))
		rows.Int(e.forget)
	}
	return inserted(j, insertExecution, rows)
}

const executionColumns = `id, service, agent_id, idem_key, fingerprint, intent, agreement_id, token_id, policy_digest,
	rule, amount, currency, state, outcome, begun_at, deadline, settled_at, context_id, unresolved_at`

func scanExecution(scan scan) (e store.Execution, err error) {
	var begun, deadline, settled, unresolved int64
	err = scan(&e.ID, &e.Service, &e.AgentID, &e.IdempotencyKey, &e.Fingerprint, &e.Intent, &e.AgreementID, &e.TokenID, &e.PolicyDigest,
		&e.Rule, &e.Charge.Nano, &e.Charge.Currency, &e.State, &e.Outcome, &begun, &deadline, &settled, &e.ContextID, &unresolved)
	e.BegunAt, e.Deadline, e.SettledAt, e.UnresolvedAt = fromNanos(begun), fromNanos(deadline), fromNanos(settled), fromNanos(unresolved)
	return e, err
}

// execution reads a record to change it, without its answer; store.ErrNotFound if there is none.
func (t *tx) execution(ctx context.Context, service, id string) (store.Execution, error) {
	if t.ownStatements {
		err := t.rows(ctx, selectExecution, []any{id, service}, func(scan scan) error {
			e, err := scanExecution(scan)
			set(&t.executions, id, &e)
			return err
		})
		if err != nil {
			return store.Execution{}, err
		}
	}
	if e := t.executions[id]; e != nil && e.Service == service {
		return *e, nil
	}
	return store.Execution{}, store.ErrNotFound
}

const selectAnswer = "SELECT output, reason, code, message, details FROM answers WHERE execution_id = ?"

// An answer is a row of answers that may be missing.
type answer struct {
	output                []byte
	reason, code, message *string
	details               []byte
}

// stored returns the answer of the row; nil where there is none.
func (a answer) stored() *store.Answer {
	if a.reason == nil {
		return nil
	}
	out := &store.Answer{Reason: reason.Reason(*a.reason), Code: reason.Code(*a.code), Message: *a.message}
	if len(a.output) > 0 {
		out.Output = a.output
	}
	if len(a.details) > 0 {
		out.Details = a.details
	}
	return out
}

// forgetKey deletes an idempotency key, which can then be used again.
func (t *tx) forgetKey(ctx context.Context, id string) error {
	for k, of := range t.keys {
		if of.id == id {
			delete(t.keys, k)
		}
	}
	err := t.forgetAnswer(ctx, id)
	if err == nil {
		err = t.write(ctx, `DELETE FROM idempotency WHERE execution_id = ? AND (service, agent_id, idem_key) IN
			(SELECT service, agent_id, idem_key FROM executions WHERE id = ?)`, id, id)
	}
	return err
}

// move changes the state of an execution: the record, the account and the ledger.
func (t *tx) move(ctx context.Context, e store.Execution, to store.State, outcome store.Outcome, by string) (store.Execution, error) {
	from := e.State
	e.State, e.Outcome = to, outcome
	if to == store.Unresolved {
		e.UnresolvedAt = t.now
	} else {
		e.SettledAt = t.now
	}
	if e.Charge.Nano > 0 && to != store.Unresolved { // unresolved charges stay held
		before, err := t.account(ctx, e.Service, string(e.AgentID), e.Charge.Currency)
		if err != nil {
			return e, err
		}
		after := before
		after.held -= e.Charge.Nano
		if to == store.Captured {
			after.captured += e.Charge.Nano
		}
		if err := t.setAccount(before, after); err != nil {
			return e, err
		}
	}
	set(&t.executions, e.ID, &e)
	delete(t.w.known.begun, e.ID)
	m := line{&e, from, to, by}
	t.enter(m)
	if t.ownStatements {
		c := writeMove([]line{m})
		return e, t.write(ctx, c.query, c.args...)
	}
	t.moves = append(t.moves, m)
	return e, nil
}

// A moved is what changes of an execution that changes its state.
type moved struct {
	from, to            store.State
	outcome             store.Outcome
	settled, unresolved int64
}

func (m line) moved() moved {
	return moved{m.from, m.to, m.Outcome, nanos(m.SettledAt), nanos(m.UnresolvedAt)}
}

// writeMoves returns the statements that change executions, those alike in one. What is first made unresolved and then
// settled, in one transaction, is changed in this order.
func writeMoves(moves []line) []command {
	alike := map[moved][]line{}
	for _, m := range moves {
		alike[m.moved()] = append(alike[m.moved()], m)
	}
	kinds := slices.SortedFunc(maps.Keys(alike), func(a, b moved) int {
		return cmp.Or(strings.Compare(string(a.from), string(b.from)), strings.Compare(string(a.to), string(b.to)),
			strings.Compare(string(a.outcome), string(b.outcome)), cmp.Compare(a.unresolved, b.unresolved))
	})
	var list []command
	for _, k := range kinds {
		chunked(alike[k], func(same []line) { list = append(list, writeMove(same)) })
	}
	return list
}

// writeMove returns the statement that changes executions which all change alike.
func writeMove(same []line) command {
	m := same[0].moved()
	args := append(make([]any, 0, 4+len(same)), string(m.to), string(m.outcome), m.settled, m.unresolved)
	for _, l := range same {
		args = append(args, l.ID)
	}
	return command{
		// The state is no argument: some indexes are of one state, and SQLite would plan again for every argument.
		query: "UPDATE {whole}executions SET state = ?, outcome = ?, settled_at = ?, unresolved_at = ? WHERE state = '" + string(m.from) +
			"' AND id IN (?" + strings.Repeat(", ?", len(same)-1) + ")",
		args: args, must: len(same),
	}
}

// at is when it became so.
func (m line) at() time.Time {
	switch {
	case m.from == "":
		return m.BegunAt
	case m.to == store.Unresolved:
		return m.UnresolvedAt
	default:
		return m.SettledAt
	}
}

// A line is a change of an execution. Of a charge it is written into the ledger.
type line struct {
	*store.Execution // as it became; nothing that a line tells changes any more
	from, to         store.State
	by               string
}

// enter adds a line to the ledger; calls without a charge have none.
func (t *tx) enter(l line) {
	if l.Charge.Nano != 0 {
		t.lines = append(t.lines, l)
	}
}

// Settle ends a call that Begin admitted: it moves the record, if there is one, and where the outcome is NotSent gives
// back the units of limits that still count and deletes the idempotency key, so that the agent may try again. Where the
// execution was settled before, the error is store.ErrSettled, with the record in its present state. Where nothing was
// recorded, call it at most once: a second call cannot be detected. The answer is kept only where the call had an
// idempotency key.
func (s *Store) Settle(ctx context.Context, b store.Admission, to store.Settlement) (store.Execution, error) {
	e := b.Execution
	if err := checkSettlement(to); err != nil {
		return store.Execution{}, fmt.Errorf("settling execution %s: %w", e.ID, err)
	}
	var back []store.CounterSlot
	if to.Outcome == store.NotSent {
		back = b.Taken
	}
	if !b.Recorded {
		e.State, e.Outcome = to.State, to.Outcome
		if to.State != store.Unresolved {
			e.SettledAt = s.now()
		}
		if len(back) == 0 {
			return e, nil
		}
	}
	n := newRowSet(string(e.AgentID))
	for _, slot := range back {
		n.counters = append(n.counters, counterKey{e.Service, string(slot.Principal), slot.LimitID, slot.Period})
	}
	if !b.Recorded {
		return e, s.call(ctx, n, func(_ context.Context, t *tx) error {
			t.give(e.Service, back)
			return nil
		})
	}
	if e.State == store.Held && e.Deadline.After(s.Counted()) {
		n.presumed = append(n.presumed, &e)
	} else {
		n.executions = []executionKey{{e.Service, e.ID}}
	}
	if e.Charge.Nano > 0 {
		n.accounts = append(n.accounts, accountKey{e.Service, string(e.AgentID), e.Charge.Currency})
	}
	if e.IdempotencyKey != "" && to.Answer != nil {
		n.answers = []agentKey{{e.Service, string(e.AgentID)}}
	}
	var result store.Execution
	err := s.call(ctx, n, func(ctx context.Context, t *tx) (err error) {
		result, err = t.settle(ctx, e.Service, e.ID, to, back)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrSettled) {
		return store.Execution{}, err
	}
	return result, err
}

// settle ends a call.
func (t *tx) settle(ctx context.Context, service, id string, to store.Settlement, back []store.CounterSlot) (store.Execution, error) {
	e, err := t.execution(ctx, service, id)
	if err != nil {
		return store.Execution{}, err
	}
	if e.State != store.Held && (e.State != store.Unresolved || to.State == store.Unresolved) {
		return e, store.ErrSettled
	}
	if e, err = t.move(ctx, e, to.State, to.Outcome, byAgent); err != nil {
		return store.Execution{}, err
	}
	if to.Outcome == store.NotSent {
		t.give(service, back)
		if e.IdempotencyKey == "" {
			return e, nil
		}
		return e, t.forgetKey(ctx, id)
	}
	if to.Answer == nil || e.IdempotencyKey == "" || to.State == store.Unresolved {
		return e, nil
	}
	a, of := *to.Answer, agentKey{e.Service, string(e.AgentID)}
	a.Message, a.Details = strings.ToValidUTF8(a.Message, ""), []byte(strings.ToValidUTF8(string(a.Details), ""))
	if !t.keeps(of, &a) {
		return e, nil
	}
	e.Answer = to.Answer
	t.executions[id].Answer = &a
	t.addAnswer(of, int64(a.Size()))
	return e, t.write(ctx, insertAnswer, id, blob(a.Output), string(a.Reason), string(a.Code), a.Message, string(a.Details), a.Size())
}

func checkSettlement(to store.Settlement) error {
	switch to.State {
	case store.Captured, store.Released, store.Unresolved:
	default:
		return fmt.Errorf("state %q ends nothing", to.State)
	}
	switch to.Outcome {
	case store.NotSent:
		if to.State != store.Released {
			return fmt.Errorf("a call that was not sent is released, not %s", to.State)
		}
	case store.Failed, store.Done, store.Unknown:
	default:
		return fmt.Errorf("outcome %q is none", to.Outcome)
	}
	return nil
}
