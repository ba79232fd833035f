package sqlstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/uimgate/uimgate/store/sqlstore/internal/journal"
)

// Calls on a database of several processes lock nothing while the process thinks: what they need is read without locks,
// and their changes are sent in one round trip, which is the whole transaction. Each change there is conditional on the
// row being as it was read. Where another process was faster the server rejects all of them, and the transaction is
// tried again; the last attempt locks what it reads, so that it succeeds.
const freeAttempts = 2 // without locks

// errUnchanged means that a row was not as it was read, or as it was presumed to be.
var errUnchanged = errors.New("a row has changed meanwhile")

// ifUnchanged makes a statement fail that changes another number of rows. PostgreSQL's code is 22012, division by zero.
func ifUnchanged(query string, rows int) string {
	return fmt.Sprintf("WITH changed AS (%s RETURNING 1) SELECT 1 / CASE COUNT(*) WHEN %d THEN 1 ELSE 0 END FROM changed", query, rows)
}

const (
	updateCounterFrom = updateCounter + " AND slot = ? AND counts = ? AND dispatch = ? AND dispatch_slot = ?"
	updateAccountFrom = updateAccount + " AND topped_up = ? AND held = ? AND captured = ? AND pooled = ?"
)

// A counterRow is a counter as it was read.
type counterRow struct {
	slot, dispatch, dispatchSlot int64
	counts                       []byte
}

// unlocked removes the locks from statements that read.
func unlocked(list []command) []command {
	for i := range list {
		list[i].query = strings.TrimSuffix(list[i].query, " FOR UPDATE")
	}
	return list
}

// writeCounter returns the statement that writes a counter.
func (t *tx) writeCounter(k counterKey, c *counter) command {
	counts := c.Encode()
	args := []any{
		c.Slot, counts, c.dispatch, c.dispatchSlot, nanos(c.Period.Frees(c.Slot)), k.service, k.agentID, k.limitID, string(k.period),
	}
	switch {
	case t.w.s.dialect.sole:
		return upsertCounter(keepCounter(k, c, counts))
	case !c.found:
		return command{query: insertCounter, args: args}
	case !t.unlocked:
		return command{query: updateCounter, args: args}
	}
	was := c.was
	return command{query: updateCounterFrom, args: append(args, was.slot, was.counts, was.dispatch, was.dispatchSlot), must: 1}
}

// keepCounter makes what a transaction changed of a counter what it was before the next one.
func keepCounter(k counterKey, c *counter, counts []byte) journal.Counter {
	c.found, c.was = true, counterRow{slot: c.Slot, counts: counts, dispatch: c.dispatch, dispatchSlot: c.dispatchSlot}
	return journal.Counter{CounterKey: k.journaled(), Slot: c.Slot, Counts: counts, Dispatch: c.dispatch, DispatchSlot: c.dispatchSlot}
}

// upsertCounter returns the statement that writes a counter where nobody else writes.
func upsertCounter(c journal.Counter) command {
	return command{query: insertCounter + orUpdateCounter, args: []any{
		c.Slot, blob(c.Counts), c.Dispatch, c.DispatchSlot, nanos(c.Period.Frees(c.Slot)), c.Service, c.AgentID, c.LimitID, string(c.Period),
	}}
}

// keepAccount does the same with an account.
func keepAccount(k accountKey, a *cachedAccount) journal.Account {
	a.found, a.was = true, a.now
	return journal.Account{
		AccountKey: k.journaled(), ToppedUp: a.now.toppedUp, Held: a.now.held, Captured: a.now.captured, Pooled: a.now.pooled,
	}
}

// upsertAccount returns the statement that writes an account where nobody else writes.
func upsertAccount(a journal.Account) command {
	return command{query: insertAccount + orUpdateAccount, args: []any{
		a.ToppedUp, a.Held, a.Captured, flag(a.Pooled), a.Service, a.AgentID, a.Currency,
	}}
}

// writeAccount returns the statement that writes an account.
func (t *tx) writeAccount(k accountKey, a *cachedAccount) command {
	args := []any{a.now.toppedUp, a.now.held, a.now.captured, flag(a.now.pooled), k.service, k.agentID, k.currency}
	switch {
	case t.w.s.dialect.sole:
		return upsertAccount(keepAccount(k, a))
	case !a.found:
		return command{query: insertAccount, args: args}
	case !t.unlocked:
		return command{query: updateAccount, args: args}
	}
	was := a.was
	return command{query: updateAccountFrom, args: append(args, was.toppedUp, was.held, was.captured, flag(was.pooled)), must: 1}
}

// A call settles the execution that it began. Until its deadline nobody else changes that, so that the record is not
// read before it is changed: the change has to find it as Begin left it. Where it does not, because an operator, the
// sweeper of a process with another clock or an earlier settlement was faster, the transaction is tried again, and reads.

// readPresumed makes a row set read what was presumed before.
func (n *rowSet) readPresumed() {
	for _, e := range n.presumed {
		n.executions = append(n.executions, executionKey{e.Service, e.ID})
	}
	n.presumed = nil
	n.executions = sorted(n.executions, executionKey.compare)
}

// presume adds what is presumed to what was read. A record that was read by its idempotency key stays as it was read.
func (t *tx) presume(n rowSet) {
	for _, e := range n.presumed {
		if t.executions[e.ID] == nil {
			record := *e
			set(&t.executions, e.ID, &record)
			t.presumed = true
		}
	}
}

// A conflict is a failure of a write after every check. A concurrent writer may be the cause: then another attempt
// reads what it wrote.
type conflict struct{ error }

func (c conflict) Unwrap() error { return c.error }

func isConflict(err error) bool {
	_, ok := errors.AsType[conflict](err)
	return ok
}

// An overtaken transaction conflicted, and the server has ended it.
type overtaken struct{ error }

func (o overtaken) Unwrap() error { return o.error }

// An unreachable database accepts no connection.
type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

// A stale connection had ended before anything was written.
type stale struct{ error }

func (s stale) Unwrap() error { return s.error }

func isStale(err error) bool {
	_, ok := errors.AsType[stale](err)
	return ok
}

// After an unsure error it is unknown whether the transaction was committed.
type unsure struct{ error }

func (u unsure) Unwrap() error { return u.error }
