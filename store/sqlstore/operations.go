package sqlstore

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
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
	var e store.Execution
	found := false
	err := s.list(ctx, "SELECT "+executionColumns+" FROM executions WHERE id = ? AND service = ?", []any{id, service},
		func(scan scan) (err error) {
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
	if _, err = s.one(ctx, selectAnswer, []any{id}, &a.output, &a.reason, &a.code, &a.message, &a.details); err != nil {
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

// Calls returns the calls of an agent that are part of a conversation, those first that reached their status last, without
// the outputs of their answers; and how many there are on all pages, store.MostCounted at most.
func (s *Store) Calls(ctx context.Context, f store.CallFilter) (list []store.Execution, total int, err error) {
	var q conditions
	q.add("service = ? AND agent_id = ? AND context_id <> '' AND begun_at >= ?", f.Service, f.AgentID, nanos(f.BegunAfter))
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

// KeyedCall returns the execution under an idempotency key, as Execution does; or store.ErrNotFound.
func (s *Store) KeyedCall(ctx context.Context, service string, id pat.AgentID, key string) (store.Execution, error) {
	var execution string
	found, err := s.one(ctx, "SELECT execution_id FROM idempotency WHERE service = ? AND agent_id = ? AND idem_key = ?",
		[]any{service, id, key}, &execution)
	switch {
	case err != nil:
		return store.Execution{}, err
	case !found:
		return store.Execution{}, store.ErrNotFound
	}
	return s.Execution(ctx, service, execution)
}

// Ledger returns entries, the newest first.
func (s *Store) Ledger(ctx context.Context, f store.Filter) ([]store.Entry, error) {
	var q conditions
	q.equal("service", f.Service)
	q.equal("agent_id", string(f.AgentID))
	q.equal("to_state", string(f.State))
	if f.After != "" {
		seq, err := strconv.ParseInt(f.After, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("listing the ledger: %q is no entry number", f.After)
		}
		q.add("seq < ?", seq)
	}
	var out []store.Entry
	const columns = "seq, at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, to_state, actor, reference"
	err := s.list(ctx, q.query("SELECT "+columns+" FROM ledger", "ORDER BY seq DESC", f.Limit), q.args, func(scan scan) error {
		var e store.Entry
		var at int64
		err := scan(&e.Seq, &at, &e.Service, &e.AgentID, &e.ExecutionID, &e.Intent, &e.Rule, &e.Amount.Nano, &e.Amount.Currency, &e.From, &e.To,
			&e.By, &e.Reference)
		e.At = fromNanos(at)
		out = append(out, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
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

// TopUp adds to an agent's balance, or reverses an amount, though no more than was paid in. repeated means that the
// same top-up was made under this reference before, and that nothing was done now. Errors: money.ErrAmount where the
// sum would leave its bounds, store.ErrReferenceUsed.
func (s *Store) TopUp(ctx context.Context, u store.TopUp) (repeated bool, err error) {
	if u.Amount.Nano <= 0 || u.Amount.Currency == "" {
		return false, fmt.Errorf("topping up %s by %s: %w", u.AgentID, u.Amount, money.ErrAmount)
	}
	entered := u.Amount
	if u.Reverse {
		entered.Nano = -entered.Nano
	}
	err = s.update(ctx, func(ctx context.Context, t *tx) (err error) {
		// the lock comes first: two top-ups with one reference wait here
		before, err := t.account(ctx, u.Service, string(u.AgentID), u.Amount.Currency)
		if err != nil {
			return err
		}
		if repeated, err = t.referenced(ctx, u, entered); err != nil || repeated {
			return err
		}
		after := before
		switch {
		case u.Reverse && entered.Nano < -before.toppedUp:
			return fmt.Errorf("taking back from %s: more than was topped up: %w", u.AgentID, money.ErrAmount)
		case entered.Nano > math.MaxInt64-before.toppedUp:
			return fmt.Errorf("topping up %s: the balance would be too large: %w", u.AgentID, money.ErrAmount)
		}
		after.toppedUp += entered.Nano
		if err := t.setAccount(before, after); err != nil {
			return err
		}
		return t.enterTopUp(ctx, u, entered)
	})
	return repeated && err == nil, err
}

// referenced reports whether the ledger contains this top-up already; store.ErrReferenceUsed if it contains another
// with the reference.
func (t *tx) referenced(ctx context.Context, u store.TopUp, entered money.Amount) (bool, error) {
	if u.Reference == "" {
		return false, nil
	}
	var agent pat.AgentID
	var was money.Amount
	found, err := t.row(ctx, "SELECT agent_id, amount, currency FROM ledger WHERE service = ? AND reference = ? AND reference <> ''",
		[]any{u.Service, u.Reference}, &agent, &was.Nano, &was.Currency)
	switch {
	case err != nil || !found:
		return false, err
	case agent != u.AgentID || was != entered:
		return false, store.ErrReferenceUsed
	}
	return true, nil
}

func (t *tx) enterTopUp(ctx context.Context, u store.TopUp, entered money.Amount) error {
	n, err := t.exec(ctx, `INSERT INTO ledger (seq, at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, `+
		`to_state, actor, reference)
		VALUES ({ledger}, ?, ?, ?, '', '', '', ?, ?, '', '', ?, ?) ON CONFLICT (service, reference) WHERE reference <> '' DO NOTHING`,
		nanos(t.now), u.Service, u.AgentID, entered.Nano, entered.Currency, byOperator, u.Reference)
	if err == nil && n == 0 { // a concurrent top-up of another agent used the reference
		return store.ErrReferenceUsed
	}
	return err
}
