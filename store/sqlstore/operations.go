package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/uimgate/uimgate/store"
)

// Resolve settles an unresolved execution by the decision of the operator: store.Captured means that the call was done,
// though its answer is lost; store.Released permits the idempotency key to be used again. Errors: store.ErrNotFound;
// store.ErrSettled where it is not unresolved.
func (s *Store) Resolve(ctx context.Context, service, id string, to store.State) (store.Execution, error) {
	return s.resolve(ctx, service, id, to, byOperator)
}

// Reconcile is Resolve by the word of the service behind the gateway.
func (s *Store) Reconcile(ctx context.Context, service, id string, to store.State) (store.Execution, error) {
	return s.resolve(ctx, service, id, to, byService)
}

func (s *Store) resolve(ctx context.Context, service, id string, to store.State, by string) (store.Execution, error) {
	if to != store.Captured && to != store.Released {
		return store.Execution{}, fmt.Errorf("resolving execution %s: want captured or released, not %q", id, to)
	}
	var result store.Execution
	err := s.update(ctx, func(ctx context.Context, t *tx) error {
		e, err := t.execution(ctx, service, id)
		if err != nil {
			return err
		}
		if e.State != store.Unresolved {
			return store.ErrSettled
		}
		outcome := e.Outcome
		if to == store.Captured {
			outcome = store.Done
		}
		if result, err = t.move(ctx, e, to, outcome, by); err != nil || to == store.Captured {
			return err
		}
		return t.forgetKey(ctx, id)
	})
	if err != nil {
		return store.Execution{}, err
	}
	return result, nil
}

// Execution returns a record with its answer, while that is kept; or store.ErrNotFound.
func (s *Store) Execution(ctx context.Context, service, id string) (store.Execution, error) {
	var q conditions
	q.add("id = ? AND service = ?", id, service)
	return s.execution(ctx, q)
}

// Call is Execution for an agent: it returns store.ErrNotFound as well where the call is outside of the scope.
func (s *Store) Call(ctx context.Context, c store.CallScope, id string) (store.Execution, error) {
	var q conditions
	q.add("id = ?", id)
	q.within(c)
	return s.execution(ctx, q)
}

func (s *Store) execution(ctx context.Context, q conditions) (store.Execution, error) {
	var e store.Execution
	found := false
	err := s.list(ctx, q.query("SELECT "+executionColumns+" FROM executions", "", 1), q.args, func(scan scan) (err error) {
		found = true
		e, err = scanExecution(scan)
		return err
	})
	if err != nil {
		return store.Execution{}, err
	}
	if !found {
		return store.Execution{}, store.ErrNotFound
	}
	var a answer
	if _, err = s.one(ctx, selectAnswer, []any{e.ID}, &a.output, &a.reason, &a.code, &a.message, &a.details); err != nil {
		return store.Execution{}, err
	}
	e.Answer = a.stored()
	return e, nil
}

// Executions returns records, the newest first, without their answers.
func (s *Store) Executions(ctx context.Context, f store.Filter) ([]store.Execution, error) {
	var q conditions
	q.equal("service", f.Service)
	q.equal("agent_id", string(f.AgentID))
	switch f.State {
	case store.Held, store.Unresolved: // as in the partial indexes
		q.where = append(q.where, "state = '"+string(f.State)+"'")
	default:
		q.equal("state", string(f.State))
	}
	if f.After != "" {
		q.add("id < ?", f.After)
	}
	var out []store.Execution
	err := s.list(ctx, q.query("SELECT "+executionColumns+" FROM executions", "ORDER BY id DESC", f.Limit), q.args, func(scan scan) error {
		e, err := scanExecution(scan)
		out = append(out, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Calls returns the calls of an agent, within the scope, that are part of a conversation, those first that reached their status last,
// without the outputs of their answers; and how many there are on all pages, store.MostCounted at most.
func (s *Store) Calls(ctx context.Context, f store.CallFilter) (list []store.Execution, total int, err error) {
	var q conditions
	q.within(f.CallScope)
	q.add("context_id <> '' AND begun_at >= ?", nanos(f.BegunAfter))
	q.equal("context_id", f.ContextID)
	switch f.Status {
	case store.CallRunning:
		q.add("state = 'held' AND unresolved_at = 0")
	case store.CallDone:
		q.add("state = 'captured' AND unresolved_at = 0")
	case store.CallFailed:
		q.add("(state IN ('released', 'unresolved') OR unresolved_at > 0)")
	}
	if !f.Since.IsZero() {
		q.add(statusSince+" >= ?", nanos(f.Since))
	}
	_, err = s.one(ctx, "SELECT COUNT(*) FROM ("+q.query("SELECT 1 FROM executions", "", store.MostCounted)+") AS counted", q.args, &total)
	if err != nil {
		return nil, 0, err
	}
	if f.After.ID != "" {
		q.add("("+statusSince+", id) < (?, ?)", nanos(f.After.Since), f.After.ID)
	}
	const refused = ", a.reason, a.code, a.message, a.details"
	query := "SELECT " + executionColumns + refused + " FROM executions LEFT JOIN answers a ON a.execution_id = id"
	query = q.query(query, "ORDER BY "+statusSince+" DESC, id DESC", f.Limit)
	err = s.list(ctx, query, q.args, func(scan scan) error {
		var a answer
		e, err := scanExecution(func(dest ...any) error { return scan(append(dest, &a.reason, &a.code, &a.message, &a.details)...) })
		e.Answer = a.stored()
		list = append(list, e)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return list, total, nil
}

// statusSince is when an execution reached its status, as in the indexes. See store.Execution.Status.
const statusSince = "(CASE WHEN unresolved_at > 0 THEN unresolved_at WHEN settled_at > 0 THEN settled_at ELSE begun_at END)"

// KeyedCall is Call by an idempotency key of the agent.
func (s *Store) KeyedCall(ctx context.Context, c store.CallScope, key string) (store.Execution, error) {
	var execution string
	found, err := s.one(ctx, "SELECT execution_id FROM idempotency WHERE service = ? AND agent_id = ? AND idem_key = ?",
		[]any{c.Service, c.AgentID, key}, &execution)
	switch {
	case err != nil:
		return store.Execution{}, err
	case !found:
		return store.Execution{}, store.ErrNotFound
	}
	return s.Call(ctx, c, execution)
}

// Accounts returns accounts by agent and currency. Without a service it adds up those of all services. Filter.After is
// an agent id, or an agent id, a space and a currency.
func (s *Store) Accounts(ctx context.Context, f store.Filter) ([]store.Account, error) {
	var q conditions
	q.equal("service", f.Service)
	q.equal("agent_id", string(f.AgentID))
	if agent, currency, both := strings.Cut(f.After, " "); both {
		q.add("(agent_id, currency) > (?, ?)", agent, currency)
	} else if agent != "" {
		q.add("agent_id > ?", agent)
	}
	var out []store.Account
	const sums = "SELECT agent_id, currency, SUM(topped_up), SUM(held), SUM(captured) FROM accounts"
	err := s.list(ctx, q.query(sums, "GROUP BY agent_id, currency ORDER BY agent_id, currency", f.Limit), q.args, func(scan scan) error {
		var a store.Account
		err := scan(&a.AgentID, &a.Currency, &a.ToppedUp.Nano, &a.Held.Nano, &a.Captured.Nano)
		a.ToppedUp.Currency, a.Held.Currency, a.Captured.Currency = a.Currency, a.Currency, a.Currency
		out = append(out, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Bounds of a listing.
const (
	defaultPage = 100
	largestPage = 1000
)

// conditions collects the conditions of a listing.
type conditions struct {
	where []string
	args  []any
}

func (c *conditions) add(condition string, args ...any) {
	c.where = append(c.where, condition)
	c.args = append(c.args, args...)
}

// equal restricts a column to a value, unless that is empty.
func (c *conditions) equal(column, value string) {
	if value != "" {
		c.add(column+" = ?", value)
	}
}

// within restricts executions to a scope.
func (c *conditions) within(s store.CallScope) {
	c.add("service = ? AND agent_id = ?", s.Service, s.AgentID)
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
	c.add("("+strings.Join(either, " OR ")+")", args...)
}

func (c *conditions) query(selection, order string, limit int) string {
	if limit <= 0 {
		limit = defaultPage
	}
	if order != "" { // else it is counted, not listed
		limit = min(limit, largestPage)
	}
	if len(c.where) > 0 {
		selection += " WHERE " + strings.Join(c.where, " AND ")
	}
	if order != "" {
		order = " " + order
	}
	return selection + order + " LIMIT " + strconv.Itoa(limit)
}

// A releaseQueue holds calls that were refused because the connection was lost during their commit. It is unknown
// whether they were begun, but they were certainly not sent, so they are released as soon as the database is available.
type releaseQueue struct {
	mu    sync.Mutex
	calls []unsettled
	busy  bool // a goroutine works on it
}

// An unsettled call has to be released.
type unsettled struct {
	store.Admission

	tries int
}

// How often, a second apart, a release is tried. After releaseTries the sweeper resolves what was held. A commit that hung may become
// visible after its connection was given up, so a call that is not found is looked for again, visibleTries times in all.
const (
	releaseTries = 120
	visibleTries = 5
)

// release gives back what a call that was not sent may have taken. Only a call with a record can be distinguished from
// one that was never begun.
func (s *Store) release(b store.Admission) {
	if !b.Recorded {
		return
	}
	s.closing.RLock()
	defer s.closing.RUnlock()
	s.releases.mu.Lock()
	defer s.releases.mu.Unlock()
	if s.closed {
		return
	}
	s.releases.calls = append(s.releases.calls, unsettled{Admission: b})
	if !s.releases.busy {
		s.releases.busy = true
		s.work.Go(s.releaseAll)
	}
}

// take empties the queue. If it is empty already, the goroutine that works on it must end.
func (l *releaseQueue) take() (calls []unsettled) {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls, l.calls = l.calls, nil
	l.busy = len(calls) > 0
	return calls
}

func (l *releaseQueue) put(calls []unsettled) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, calls...)
}

func (s *Store) releaseAll() {
	for calls := s.releases.take(); len(calls) > 0; calls = s.releases.take() {
		left := s.releaseEach(calls)
		if len(left) == 0 {
			continue
		}
		s.releases.put(left)
		select {
		case <-s.ending:
		case <-time.After(time.Second):
		}
	}
}

// releaseEach releases calls, and returns those that have to be tried again.
func (s *Store) releaseEach(calls []unsettled) (left []unsettled) {
	for i, c := range calls {
		_, err := s.Settle(context.Background(), c.Admission, store.Settlement{State: store.Released, Outcome: store.NotSent})
		c.tries++
		switch {
		case errors.Is(err, errClosed):
			return nil
		case errors.Is(err, store.ErrUnavailable): // for the others, too
			if c.tries < releaseTries {
				left = append(left, c)
			}
			return append(left, calls[i+1:]...)
		case errors.Is(err, store.ErrNotFound) && c.tries < visibleTries:
			left = append(left, c)
		}
	}
	return left
}
