package receipt

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A Statement summarizes one account over a period: Closing is Opening plus the changes in the period. Times are UTC. From is in the
// period, To is not. Amounts are exact decimals.
type Statement struct {
	AgentID  pat.AgentID     `json:"agent_id"`
	Name     string          `json:"agent_name,omitempty"` // the operator's name for the agent
	Currency string          `json:"currency"`
	From     time.Time       `json:"from,omitzero"` // zero: the start of the account
	To       time.Time       `json:"to"`
	Opening  Position        `json:"opening"`
	ToppedUp string          `json:"topped_up"` // in the period
	Reversed string          `json:"reversed"`  // the sums of the period
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

// A StatementLine summarizes the charges of one intent under one rule: how many became held, captured, released and unresolved in the
// period, and their amounts.
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

// StatementOf converts a statement of the store to the form of responses.
func StatementOf(s store.Statement) Statement {
	out := Statement{
		AgentID: s.AgentID, Currency: s.Currency, From: s.From, To: s.To.UTC(), Opening: positionOf(s.Opening),
		Closing:  positionOf(s.Closing),
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

func positionOf(p store.Position) Position {
	show := func(a money.Amount) string { return a.Decimal() }
	return Position{show(p.ToppedUp), show(p.Held), show(p.Unresolved), show(p.Captured), show(p.Balance())}
}

// A SignedStatement is the payload of a signed statement: the statement, and the part of the chain that it covers.
type SignedStatement struct {
	Issuer string `json:"iss"`
	Statement
	evidence.Range
	Checkpoint string `json:"checkpoint,omitempty"` // newest checkpoint of the log when the statement was made
}

// Document signs a document of the given typ; see evidence.SignDocument.
func (s *Signer) Document(ctx context.Context, typ string, document any) (string, error) {
	key, err := s.key(ctx)
	if err != nil {
		return "", err
	}
	return evidence.SignDocument(key.Private, key.ID, typ, document)
}

// A Ledger reads accounts.
type Ledger interface {
	Statements(ctx context.Context, f store.StatementFilter) ([]store.Statement, error)
}

// Sum returns the unsigned statement of one account over a period. The error is store.ErrNotFound if the account does not exist,
// *store.ForgottenError if entries of the period were deleted, or store.ErrPeriod.
func Sum(ctx context.Context, l Ledger, issuer string, f store.StatementFilter, currency string) (SignedStatement, error) {
	list, err := l.Statements(ctx, f)
	if err != nil {
		return SignedStatement{}, err
	}
	return Of(list, issuer, f.AgentID, currency)
}

// Of returns the unsigned statement of one account among several. The error is store.ErrNotFound if the account does not exist.
func Of(list []store.Statement, issuer string, agent pat.AgentID, currency string) (SignedStatement, error) {
	for _, s := range list {
		if s.Currency == currency && s.AgentID == agent {
			return SignedStatement{Issuer: issuer, Statement: StatementOf(s), Range: s.Range}, nil
		}
	}
	return SignedStatement{}, store.ErrNotFound
}
