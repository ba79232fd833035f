package billing

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/receipt"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// Types of package receipt, which this package returns.
type (
	// A Statement summarizes one account over a period.
	Statement = receipt.Statement
	// A Position is the balance of an account at one time.
	Position = receipt.Position
	// A StatementLine summarizes the charges of one intent under one rule.
	StatementLine = receipt.StatementLine
	// Charges is a number of calls and their total cost.
	Charges = receipt.Charges
)

// A StatementQuery selects statements of a service and a period.
type StatementQuery struct {
	Service string `query:"service"`
	api.PageRequest
	AgentID pat.AgentID `query:"agent_id"` // empty: all agents
	From    time.Time   `query:"from"`     // zero: from the start of the accounts
	To      time.Time   `query:"to"`       // zero: until now
}

// Statements returns a statement for each account. Only the last page may have fewer items than the limit. Errors: *store.ForgottenError,
// store.ErrPeriod.
func (o *Operations) Statements(ctx context.Context, s *service.Service, q StatementQuery) (api.Page[Statement], error) {
	f := store.StatementFilter{Service: s.ID, AgentID: q.AgentID, From: q.From, To: q.To, After: q.After, Limit: q.Max()}
	list, err := o.Store.Statements(ctx, f)
	if err != nil {
		return api.Page[Statement]{}, err
	}
	page := api.PageOf(list, q.Max(), receipt.StatementOf, func(s store.Statement) string { return string(s.AgentID) + " " + s.Currency })
	return api.AddNames(ctx, o.Store, s.ID, page, func(s *Statement) (pat.AgentID, *string) { return s.AgentID, &s.Name })
}
