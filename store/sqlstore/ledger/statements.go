package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A sum is one row of the result of selectSums.
type sum struct {
	kind, intent, rule string
	from, to           store.State
	calls, nano        int64
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

// selectSums reads an account, and the changes in its ledger since the period began. It is a single statement, so that it reads one
// snapshot. The position before the period follows from both, so nothing older than the period is read. Entries of a release without
// chains, whose k is -1, are selected by their time.
const selectSums = `SELECT 'topped_up', '', '', '', '', 0, topped_up FROM accounts WHERE service = ? AND agent_id = ? AND currency = ?
	UNION ALL SELECT 'held', '', '', '', '', 0, held FROM accounts WHERE service = ? AND agent_id = ? AND currency = ?
	UNION ALL SELECT 'captured', '', '', '', '', 0, captured FROM accounts WHERE service = ? AND agent_id = ? AND currency = ?
	UNION ALL SELECT 'open', '', '', '', '', CAST(COUNT(*) AS BIGINT), CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM executions
		WHERE service = ? AND agent_id = ? AND currency = ? AND state = 'unresolved' AND amount > 0
	UNION ALL SELECT CASE WHEN amount < 0 THEN 'reversed' ELSE 'within' END, intent, rule, from_state, to_state,
		CAST(COUNT(*) AS BIGINT), CAST(SUM(amount) AS BIGINT) FROM ledger
		WHERE service = ? AND agent_id = ? AND currency = ? AND k >= 0 AND k >= ? AND k < ? GROUP BY 1, intent, rule, from_state, to_state
	UNION ALL SELECT 'after', '', '', from_state, to_state, CAST(COUNT(*) AS BIGINT), CAST(SUM(amount) AS BIGINT) FROM ledger
		WHERE service = ? AND agent_id = ? AND currency = ? AND k >= 0 AND k >= ? GROUP BY from_state, to_state
	UNION ALL SELECT CASE WHEN amount < 0 THEN 'reversed' ELSE 'within' END, intent, rule, from_state, to_state,
		CAST(COUNT(*) AS BIGINT), CAST(SUM(amount) AS BIGINT) FROM ledger
		WHERE service = ? AND agent_id = ? AND currency = ? AND k < 0 AND at >= ? AND at < ? GROUP BY 1, intent, rule, from_state, to_state
	UNION ALL SELECT 'after', '', '', from_state, to_state, CAST(COUNT(*) AS BIGINT), CAST(SUM(amount) AS BIGINT) FROM ledger
		WHERE service = ? AND agent_id = ? AND currency = ? AND k < 0 AND at >= ? GROUP BY from_state, to_state`

// Statements returns a statement for each account, ordered by agent and currency. The error wraps store.ErrPeriod if the period is not
// valid. It is a *store.ForgottenError if ledger entries at or after From were deleted.
func (l *Ledger) Statements(ctx context.Context, f store.StatementFilter) ([]store.Statement, error) {
	p, err := l.period(ctx, &f)
	if err != nil {
		return nil, err
	}
	accounts, err := l.Accounts(ctx, store.Filter{Service: f.Service, AgentID: f.AgentID, After: f.After, Limit: f.Limit})
	if err != nil {
		return nil, err
	}
	out := make([]store.Statement, 0, len(accounts))
	for _, a := range accounts {
		k := AccountKey{f.Service, string(a.AgentID), a.Currency}
		part, err := l.span(ctx, k, p)
		if err != nil {
			return nil, err
		}
		sums, err := l.sums(ctx, k, p, part)
		if err != nil {
			return nil, err
		}
		st := statement(sums, a.Currency)
		st.Service, st.AgentID, st.From, st.To = f.Service, a.AgentID, f.From, f.To
		if st.Range, err = l.chainRange(ctx, k, part); err != nil {
			return nil, err
		}
		out = append(out, st)
	}
	return out, l.stillKept(ctx, f.Service, p)
}

// selectCharged reads the captured charges of a part of a chain, each with its execution. An execution and its ledger entries are deleted
// together. Entries of a release without chains are selected by their time.
const selectCharged = `SELECT l.intent, l.rule, l.amount, e.agreement_id, e.policy_digest, CAST(COUNT(*) AS BIGINT)
	FROM ledger l LEFT JOIN executions e ON e.id = l.execution_id
	WHERE l.service = ? AND l.agent_id = ? AND l.currency = ? AND l.k >= 0 AND l.k >= ? AND l.k < ? AND l.to_state = 'captured'
	GROUP BY l.intent, l.rule, l.amount, e.agreement_id, e.policy_digest
	UNION ALL SELECT l.intent, l.rule, l.amount, e.agreement_id, e.policy_digest, CAST(COUNT(*) AS BIGINT)
	FROM ledger l LEFT JOIN executions e ON e.id = l.execution_id
	WHERE l.service = ? AND l.agent_id = ? AND l.currency = ? AND l.k < 0 AND l.at >= ? AND l.at < ? AND l.to_state = 'captured'
	GROUP BY l.intent, l.rule, l.amount, e.agreement_id, e.policy_digest`

// ChargedCalls returns the calls that a statement counts as captured, grouped and ordered by intent, rule, price, agreement and policy.
// The error is a *store.ForgottenError if entries of the statement were deleted.
func (l *Ledger) ChargedCalls(ctx context.Context, st store.Statement) ([]store.ChargedCalls, error) {
	p := period{from: math.MinInt64, to: engine.Nanos(st.To)}
	if !st.From.IsZero() {
		p.from = engine.Nanos(st.From)
	}
	var part span
	if r := st.Range; r.From != nil {
		part = span{*r.From, *r.To + 1}
	}
	calls := map[store.ChargedCalls]int64{}
	key := []any{st.Service, string(st.AgentID), st.Currency}
	args := slices.Concat(key, []any{part.first, part.end}, key, []any{p.from, p.to})
	if err := l.db.List(ctx, selectCharged, args, func(scan engine.Scan) error {
		c := store.ChargedCalls{Price: money.Amount{Currency: st.Currency}}
		var agreement, policy sql.NullString
		var n int64
		err := scan(&c.Intent, &c.Rule, &c.Price.Nano, &agreement, &policy, &n)
		c.AgreementID, c.PolicyDigest = pat.AgreementID(agreement.String), policy.String
		calls[c] += n
		return err
	}); err != nil {
		return nil, err
	}
	out := make([]store.ChargedCalls, 0, len(calls))
	for c, n := range calls {
		c.Calls = n
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b store.ChargedCalls) int {
		return cmp.Or(strings.Compare(a.Intent, b.Intent), strings.Compare(a.Rule, b.Rule), cmp.Compare(a.Price.Nano, b.Price.Nano),
			cmp.Compare(a.AgreementID, b.AgreementID), strings.Compare(a.PolicyDigest, b.PolicyDigest))
	})
	return out, l.stillKept(ctx, st.Service, p)
}

func (l *Ledger) sums(ctx context.Context, k AccountKey, p period, part span) ([]sum, error) {
	key := []any{k.Service, k.AgentID, k.Currency}
	args := slices.Concat(key, key, key, key, key, []any{part.first, part.end}, key, []any{part.end},
		key, []any{p.from, p.to}, key, []any{p.to})
	return engine.All(ctx, l.db, selectSums, args, func(scan engine.Scan) (n sum, err error) {
		err = scan(&n.kind, &n.intent, &n.rule, &n.from, &n.to, &n.calls, &n.nano)
		return n, err
	})
}

// statement makes the statement of an account from its sums.
func statement(sums []sum, currency string) store.Statement {
	var st store.Statement
	var now, after, within position
	lines := map[[2]string]*store.StatementLine{}
	st.Currency = currency
	st.ToppedUp.Currency, st.Reversed.Currency = currency, currency
	for _, n := range sums {
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
				lines[key] = newLine(n, currency)
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

func newLine(n sum, currency string) *store.StatementLine {
	none := store.Charges{Amount: money.Amount{Currency: currency}}
	return &store.StatementLine{Intent: n.intent, Rule: n.rule, Held: none, Captured: none, Released: none, Unresolved: none}
}

// count adds changes to their line, under the state to which they led.
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
