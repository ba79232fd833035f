package calls

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Execution returns an execution record, with its answer if that is still stored. The error is store.ErrNotFound if there is no
// such record.
func (c *Calls) Execution(ctx context.Context, service, id string) (store.Execution, error) {
	var q engine.Conditions
	q.Add("id = ? AND service = ?", id, service)
	return c.execution(ctx, q)
}

// Call is like Execution, but also returns store.ErrNotFound if the call is outside the scope.
func (c *Calls) Call(ctx context.Context, s store.CallScope, id string) (store.Execution, error) {
	var q engine.Conditions
	q.Add("id = ?", id)
	within(&q, s)
	return c.execution(ctx, q)
}

func (c *Calls) execution(ctx context.Context, q engine.Conditions) (store.Execution, error) {
	query := q.Query("SELECT "+executionColumns+" FROM executions", "", 1)
	e, err := engine.First(ctx, c.db, store.ErrNotFound, query, q.Args, scanExecution)
	if err != nil {
		return store.Execution{}, err
	}
	var a answer
	if _, err = c.db.One(ctx, selectAnswer, []any{e.ID}, &a.output, &a.reason, &a.code, &a.message, &a.details); err != nil {
		return store.Execution{}, err
	}
	e.Answer = a.stored()
	return e, nil
}

// Executions returns records, the newest first, without their answers.
func (c *Calls) Executions(ctx context.Context, f store.Filter) ([]store.Execution, error) {
	var q engine.Conditions
	open := f.State == store.Held || f.State == store.Unresolved
	if open && f.AgentID == "" && f.Service != "" {
		// SQLite would otherwise read all executions of the service by the index executions_service.
		q.Add("service || '' = ?", f.Service)
	} else {
		q.Equal("service", f.Service)
	}
	q.Equal("agent_id", string(f.AgentID))
	if open { // as in the partial indexes
		q.Add("state = '" + string(f.State) + "'")
	} else {
		q.Equal("state", string(f.State))
	}
	if f.After != "" {
		q.Add("id < ?", f.After)
	}
	query := q.Query("SELECT "+executionColumns+" FROM executions", "ORDER BY id DESC", f.Limit)
	return engine.All(ctx, c.db, query, q.Args, scanExecution)
}

// Calls returns the calls of an agent that are within the scope and part of a conversation, without the outputs of their answers. The call
// that reached its status last comes first. total is the number of calls on all pages, at most store.MostCounted.
func (c *Calls) Calls(ctx context.Context, f store.CallFilter) (list []store.Execution, total int, err error) {
	var q engine.Conditions
	within(&q, f.CallScope)
	q.Add("context_id <> '' AND begun_at >= ?", engine.Nanos(f.BeganAfter))
	q.Equal("context_id", f.ContextID)
	switch f.Status {
	case store.CallRunning:
		q.Add("state = 'held' AND unresolved_at = 0")
	case store.CallDone:
		q.Add("state = 'captured' AND unresolved_at = 0")
	case store.CallFailed:
		q.Add("(state IN ('released', 'unresolved') OR unresolved_at > 0)")
	}
	if !f.Since.IsZero() {
		q.Add(statusSince+" >= ?", engine.Nanos(f.Since))
	}
	_, err = c.db.One(ctx, "SELECT COUNT(*) FROM ("+q.Query("SELECT 1 FROM executions", "", store.MostCounted)+") AS counted", q.Args, &total)
	if err != nil {
		return nil, 0, err
	}
	if f.After.ID != "" {
		q.Add("("+statusSince+", id) < (?, ?)", engine.Nanos(f.After.Since), f.After.ID)
	}
	const refused = ", a.reason, a.code, a.message, a.details"
	query := "SELECT " + executionColumns + refused + " FROM executions LEFT JOIN answers a ON a.execution_id = id"
	query = q.Query(query, "ORDER BY "+statusSince+" DESC, id DESC", f.Limit)
	list, err = engine.All(ctx, c.db, query, q.Args, func(scan engine.Scan) (store.Execution, error) {
		var a answer
		e, err := scanExecution(func(dest ...any) error { return scan(append(dest, &a.reason, &a.code, &a.message, &a.details)...) })
		e.Answer = a.stored()
		return e, err
	})
	return list, total, err
}

// statusSince is the expression for the time at which an execution reached its status. The indexes use the same expression. See
// store.Execution.Status.
const statusSince = "(CASE WHEN unresolved_at > 0 THEN unresolved_at WHEN settled_at > 0 THEN settled_at ELSE begun_at END)"

// KeyedCall is like Call, for the call under an idempotency key of the agent.
func (c *Calls) KeyedCall(ctx context.Context, s store.CallScope, key string) (store.Execution, error) {
	var execution string
	found, err := c.db.One(ctx, "SELECT execution_id FROM idempotency WHERE service = ? AND agent_id = ? AND idem_key = ?",
		[]any{s.Service, s.AgentID, key}, &execution)
	switch {
	case err != nil:
		return store.Execution{}, err
	case !found:
		return store.Execution{}, store.ErrNotFound
	}
	return c.Call(ctx, s, execution)
}

// within restricts executions to a scope.
func within(c *engine.Conditions, s store.CallScope) {
	c.Add("service = ? AND agent_id = ?", s.Service, s.AgentID)
	var either []string
	var args []any
	if n := len(s.Intents); n > 0 {
		either = append(either, "intent IN (?"+strings.Repeat(", ?", n-1)+")")
		for _, uid := range s.Intents {
			args = append(args, uid)
		}
	}
	for _, namespace := range s.Namespaces {
		prefix := namespace + ":"
		either = append(either, "substr(intent, 1, ?) = ?")
		args = append(args, utf8.RuneCountInString(prefix), prefix)
	}
	if len(either) == 0 {
		either = []string{"1 = 0"}
	}
	c.Add("("+strings.Join(either, " OR ")+")", args...)
}
