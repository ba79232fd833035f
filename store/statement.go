package store

import (
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

// A StatementFilter narrows a listing of statements to accounts and a period.
type StatementFilter struct {
	Service string
	AgentID pat.AgentID // empty: of every agent
	// From is the first moment in the period, To the first after it. Zero From: all that is kept; zero To: up to now.
	From, To time.Time
	After    string // agent id, a space and the currency of the last statement seen
	Limit    int    // 100 if not set, and at most 1000
}

// A Statement is what happened on one account in a period. The sums are those of the ledger: each part of Closing
// is the sum of that part of Opening and of what the period added.
type Statement struct {
	AgentID          pat.AgentID
	Currency         string
	From, To         time.Time // zero From: the account's beginning
	Opening, Closing Position
	ToppedUp         money.Amount // in the period
	Reversed         money.Amount // top-ups taken back in the period
	Lines            []StatementLine
}

// A Position is how an account stands at one moment.
type Position struct {
	ToppedUp   money.Amount // less what was taken back
	Held       money.Amount // held and unresolved
	Unresolved money.Amount // part of Held
	Captured   money.Amount
}

// Balance is what may still be spent; below zero it is what the agent owes.
func (p Position) Balance() money.Amount {
	return money.Amount{Nano: p.ToppedUp.Nano - p.Held.Nano - p.Captured.Nano, Currency: p.ToppedUp.Currency}
}

// A StatementLine sums up the charges of one intent under one rule. A charge counts where it moved: one held
// in one period and captured in the next is in both, once as Held and once as Captured.
type StatementLine struct {
	Intent, Rule                         string
	Held, Captured, Released, Unresolved Charges
}

// Charges are how many calls, and what they cost together.
type Charges struct {
	Calls  int64
	Amount money.Amount
}
