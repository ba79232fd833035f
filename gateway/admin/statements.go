package admin

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A Statement sums up one account over a period: Closing is Opening plus the changes in the period. Times are UTC. From is in the period,
// To is not. Amounts are exact decimals.
type Statement struct {
	AgentID  pat.AgentID     `json:"agent_id"`
	Name     string          `json:"agent_name,omitempty"` // the operator's name for the agent
	Currency string          `json:"currency"`
	From     time.Time       `json:"from,omitzero"` // zero: the start of the account
	To       time.Time       `json:"to"`
	Opening  Position        `json:"opening"`
	ToppedUp string          `json:"topped_up"` // in the period
	Reversed string          `json:"reversed"`  // in the period
	Lines    []StatementLine `json:"lines"`
	Closing  Position        `json:"closing"`
}

// A Position is the balance of an account at one time.
type Position struct {
	ToppedUp   string `json:"topped_up"`
	Held       string `json:"held"`       // held or unresolved
	Unresolved string `json:"unresolved"` // part of Held
	Captured   string `json:"captured"`
	Balance    string `json:"balance"` // topped up minus held and captured; negative if the agent owes money
}

// A StatementLine sums up the charges of one intent under one rule: how many were held, were captured, were released and became unresolved
// in the period, and their amounts.
type StatementLine struct {
	Intent     string  `json:"intent"`
	Rule       string  `json:"rule"`
	Held       Charges `json:"held"`
	Captured   Charges `json:"captured"`
	Released   Charges `json:"released"`
	Unresolved Charges `json:"unresolved"`
}

// Charges is a number of calls and their total cost.
type Charges struct {
	Calls  int64  `json:"calls"`
	Amount string `json:"amount"`
}

func showStatement(s store.Statement) Statement {
	out := Statement{
		AgentID: s.AgentID, Currency: s.Currency, From: s.From, To: s.To.UTC(), Opening: showPosition(s.Opening),
		Closing:  showPosition(s.Closing),
		ToppedUp: s.ToppedUp.Decimal(), Reversed: s.Reversed.Decimal(), Lines: make([]StatementLine, 0, len(s.Lines)),
	}
	if !s.From.IsZero() {
		out.From = s.From.UTC()
	}
	show := func(c store.Charges) Charges { return Charges{c.Calls, c.Amount.Decimal()} }
	for _, l := range s.Lines {
		out.Lines = append(out.Lines, StatementLine{l.Intent, l.Rule, show(l.Held), show(l.Captured), show(l.Released), show(l.Unresolved)})
	}
	return out
}

func showPosition(p store.Position) Position {
	show := func(a money.Amount) string { return a.Decimal() }
	return Position{show(p.ToppedUp), show(p.Held), show(p.Unresolved), show(p.Captured), show(p.Balance())}
}

// A StatementQuery selects statements of a service and a period.
type StatementQuery struct {
	Service string
	PageRequest
	AgentID pat.AgentID // empty: all agents
	From    time.Time   // zero: from the start of the accounts
	To      time.Time   // zero: until now
}

func (q *StatementQuery) parameters(p parameters) {
	p.service(&q.Service)
	p.page(&q.PageRequest)
	p.text("agent_id", (*string)(&q.AgentID))
	p.moment("from", &q.From)
	p.moment("to", &q.To)
}

// Statements returns a statement for each account. Only the last page may have fewer items than the limit. Errors: *store.ForgottenError,
// store.ErrPeriod.
func (o *Operator) Statements(ctx context.Context, q StatementQuery) (Page[Statement], error) {
	service, err := o.service(q.Service)
	if err != nil {
		return Page[Statement]{}, err
	}
	f := store.StatementFilter{Service: service.ID, AgentID: q.AgentID, From: q.From, To: q.To, After: q.After, Limit: q.limit()}
	list, err := o.store.Statements(ctx, f)
	if err != nil {
		return Page[Statement]{}, err
	}
	page := pageOf(list, q.limit(), showStatement, func(s store.Statement) string { return string(s.AgentID) + " " + s.Currency })
	return named(ctx, o, service.ID, page, func(s *Statement) (pat.AgentID, *string) { return s.AgentID, &s.Name })
}
