package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A sum is one row of the result of selectSums.
type sum struct {
	kind, currency, intent, rule string
	from, to                     store.State
	calls, nano                  int64
}

// The kinds of a sum.
const (
	sumToppedUp = "topped_up" // the present value of the account
	sumHeld     = "held"
	sumCaptured = "captured"
	sumOpen     = "open"     // the unresolved executions of the account
	sumWithin   = "within"   // ledger entries in the period
	sumReversed = "reversed" // reversed top-ups in the period
	sumAfter    = "after"    // ledger entries after the period
)

// selectSums reads the accounts of an agent, and the changes in its ledger since the period began. It is a single statement, so that it
// reads one snapshot. The position before the period follows from both, so nothing older than the period is read.
const selectSums = `SELECT 'topped_up', currency, '', '', '', '', 0, topped_up FROM accounts WHERE service = ? AND agent_id = ?
	UNION ALL SELECT 'held', currency, '', '', '', '', 0, held FROM accounts WHERE service = ? AND agent_id = ?
	UNION ALL SELECT 'captured', currency, '', '', '', '', 0, captured FROM accounts WHERE service = ? AND agent_id = ?
	UNION ALL SELECT 'open', currency, '', '', '', '', CAST(COUNT(*) AS BIGINT), CAST(SUM(amount) AS BIGINT) FROM executions
		WHERE service = ? AND agent_id = ? AND state = 'unresolved' AND amount > 0 GROUP BY currency
	UNION ALL SELECT CASE WHEN amount < 0 THEN 'reversed' ELSE 'within' END, currency, intent, rule, from_state, to_state,
		CAST(COUNT(*) AS BIGINT), CAST(SUM(amount) AS BIGINT) FROM ledger WHERE service = ? AND agent_id = ? AND at >= ? AND at < ?
		GROUP BY 1, currency, intent, rule, from_state, to_state
	UNION ALL SELECT 'after', currency, '', '', from_state, to_state, CAST(COUNT(*) AS BIGINT), CAST(SUM(amount) AS BIGINT) FROM ledger
		WHERE service = ? AND agent_id = ? AND at >= ? GROUP BY currency, from_state, to_state`

// Statements returns a statement for each account, ordered by agent and currency. The error wraps store.ErrPeriod if the period is not
// valid. It is a *store.ForgottenError if ledger entries at or after From were deleted.
func (l *Ledger) Statements(ctx context.Context, f store.StatementFilter) ([]store.Statement, error) {
	from, to, err := l.period(ctx, &f)
	if err != nil {
		return nil, err
	}
	accounts, err := l.Accounts(ctx, store.Filter{Service: f.Service, AgentID: f.AgentID, After: f.After, Limit: f.Limit})
	if err != nil {
		return nil, err
	}
	out := make([]store.Statement, 0, len(accounts))
	for len(accounts) > 0 {
		id := accounts[0].AgentID
		n := 1
		for n < len(accounts) && accounts[n].AgentID == id {
			n++
		}
		sums, err := l.sums(ctx, f.Service, id, from, to)
		if err != nil {
			return nil, err
		}
		for _, a := range accounts[:n] {
			st := statement(sums, a.Currency)
			st.AgentID, st.From, st.To = id, f.From, f.To
			out = append(out, st)
		}
		accounts = accounts[n:]
	}
	return out, nil
}

// selectCharged reads the captured charges in a period, each with its execution. An execution and its ledger entries are deleted together.
const selectCharged = `SELECT l.currency, l.intent, l.rule, l.amount, e.agreement_id, e.policy_digest, CAST(COUNT(*) AS BIGINT)
	FROM ledger l LEFT JOIN executions e ON e.id = l.execution_id
	WHERE l.service = ? AND l.agent_id = ? AND l.at >= ? AND l.at < ? AND l.to_state = 'captured'
	GROUP BY l.currency, l.intent, l.rule, l.amount, e.agreement_id, e.policy_digest`

// ChargedCalls returns the calls that an agent was charged for in a period, grouped and ordered by currency, intent, rule, price, agreement
// and policy. It returns the same errors as Statements.
func (l *Ledger) ChargedCalls(ctx context.Context, f store.StatementFilter) ([]store.ChargedCalls, error) {
	from, to, err := l.period(ctx, &f)
	if err != nil {
		return nil, err
	}
	out, err := engine.All(ctx, l.db, selectCharged, []any{f.Service, f.AgentID, from, to},
		func(scan engine.Scan) (c store.ChargedCalls, err error) {
			var agreement, policy sql.NullString
			err = scan(&c.Price.Currency, &c.Intent, &c.Rule, &c.Price.Nano, &agreement, &policy, &c.Calls)
			c.AgreementID, c.PolicyDigest = pat.AgreementID(agreement.String), policy.String
			return c, err
		})
	slices.SortFunc(out, func(a, b store.ChargedCalls) int {
		return cmp.Or(strings.Compare(a.Price.Currency, b.Price.Currency), strings.Compare(a.Intent, b.Intent),
			strings.Compare(a.Rule, b.Rule), cmp.Compare(a.Price.Nano, b.Price.Nano), cmp.Compare(a.AgreementID, b.AgreementID),
			strings.Compare(a.PolicyDigest, b.PolicyDigest))
	})
	return out, err
}

// period sets the missing bounds of the filter, and returns the bounds in nanoseconds since 1970 UTC. It rejects a period in which the
// ledger is no longer complete.
func (l *Ledger) period(ctx context.Context, f *store.StatementFilter) (from, to int64, err error) {
	var until int64
	const last = "SELECT until FROM carried WHERE service = ? ORDER BY until DESC LIMIT 1"
	if _, err := l.db.One(ctx, last, []any{f.Service}, &until); err != nil {
		return 0, 0, err
	}
	if f.From.IsZero() && until > 0 {
		f.From = engine.FromNanos(until + 1)
	}
	from, to = math.MinInt64, math.MaxInt64
	if !f.From.IsZero() {
		from = engine.Nanos(f.From)
	}
	upToNow := f.To.IsZero()
	if upToNow {
		f.To = l.db.Now() // to stays unbounded: a clock may be ahead
	} else {
		to = engine.Nanos(f.To)
	}
	switch {
	case from >= to || upToNow && f.From.After(f.To):
		return 0, 0, fmt.Errorf("a statement from %s to %s: %w", f.From.Format(time.RFC3339), f.To.Format(time.RFC3339), store.ErrPeriod)
	case until > 0 && from <= until:
		return 0, 0, &store.ForgottenError{Kept: engine.FromNanos(until + 1)}
	}
	return from, to, nil
}

func (l *Ledger) sums(ctx context.Context, service string, agentID pat.AgentID, from, to int64) ([]sum, error) {
	args := []any{service, agentID, service, agentID, service, agentID, service, agentID, service, agentID, from, to, service, agentID, to}
	return engine.All(ctx, l.db, selectSums, args, func(scan engine.Scan) (n sum, err error) {
		err = scan(&n.kind, &n.currency, &n.intent, &n.rule, &n.from, &n.to, &n.calls, &n.nano)
		return n, err
	})
}

// statement returns the statement for one currency.
func statement(sums []sum, currency string) store.Statement {
	var st store.Statement
	var now, after, within position
	lines := map[[2]string]*store.StatementLine{}
	st.Currency = currency
	st.ToppedUp.Currency, st.Reversed.Currency = currency, currency
	for _, n := range sums {
		if n.currency != currency {
			continue
		}
		switch n.kind {
		case sumToppedUp:
			now.toppedUp = n.nano
		case sumHeld:
			now.held = n.nano
		case sumCaptured:
			now.captured = n.nano
		case sumOpen:
			now.unresolved = n.nano
		case sumAfter:
			after.move(n)
		case sumReversed:
			st.Reversed.Nano -= n.nano
			within.move(n)
		case sumWithin:
			within.move(n)
			if n.to == "" && n.from == "" {
				st.ToppedUp.Nano += n.nano
				continue
			}
			key := [2]string{n.intent, n.rule}
			if lines[key] == nil {
				lines[key] = newLine(n)
			}
			count(lines[key], n)
		}
	}
	closing := now.less(after)
	st.Opening, st.Closing = closing.less(within).in(currency), closing.in(currency)
	for _, line := range lines {
		st.Lines = append(st.Lines, *line)
	}
	slices.SortFunc(st.Lines, func(a, b store.StatementLine) int {
		return cmp.Or(strings.Compare(a.Intent, b.Intent), strings.Compare(a.Rule, b.Rule))
	})
	return st
}

func newLine(n sum) *store.StatementLine {
	none := store.Charges{Amount: money.Amount{Currency: n.currency}}
	return &store.StatementLine{Intent: n.intent, Rule: n.rule, Held: none, Captured: none, Released: none, Unresolved: none}
}

// count adds changes to their line, by the state they led to.
func count(l *store.StatementLine, n sum) {
	c := &l.Held
	switch n.to {
	case store.Captured:
		c = &l.Captured
	case store.Released:
		c = &l.Released
	case store.Unresolved:
		c = &l.Unresolved
	case store.Held:
	}
	c.Calls += n.calls
	c.Amount.Nano += n.nano
}

// A position holds the sums of an account, or the changes of a period.
type position struct{ toppedUp, held, unresolved, captured int64 }

// move adds the effect of entries of the ledger.
func (p *position) move(n sum) {
	if n.from == "" && n.to == "" {
		p.toppedUp += n.nano
		return
	}
	p.add(n.from, -n.nano)
	p.add(n.to, n.nano)
}

func (p *position) add(s store.State, nano int64) {
	switch s {
	case store.Unresolved:
		p.unresolved += nano
		p.held += nano
	case store.Held:
		p.held += nano
	case store.Captured:
		p.captured += nano
	case store.Released:
	}
}

func (p position) less(q position) position {
	return position{p.toppedUp - q.toppedUp, p.held - q.held, p.unresolved - q.unresolved, p.captured - q.captured}
}

func (p position) in(currency string) store.Position {
	amount := func(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: currency} }
	return store.Position{ToppedUp: amount(p.toppedUp), Held: amount(p.held), Unresolved: amount(p.unresolved), Captured: amount(p.captured)}
}
