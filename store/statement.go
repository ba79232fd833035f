package store

import (
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

// A StatementFilter restricts a listing of statements to accounts and a period.
type StatementFilter struct {
	Service string
	AgentID pat.AgentID // empty means all agents
	// From is the first moment of the period. To is the first moment after the period. A zero From means the beginning of the retained ledger;
	// a zero To means now.
	From, To time.Time
	After    string // the agent id, a space and the currency of the last statement returned
	Limit    int    // 100 if not set, and at most 1000
}

// A Statement summarizes one account in a period. Its sums equal those of the ledger: each field of Closing is the sum of the corresponding
// field of Opening and of the changes in the period.
type Statement struct {
	Service          string
	AgentID          pat.AgentID
	Currency         string
	From, To         time.Time // a zero From means the beginning of the account
	Opening, Closing Position
	ToppedUp         money.Amount // in the period
	Reversed         money.Amount // top-ups reversed in the period
	Lines            []StatementLine
	// Range is the part of the account's chain that the statement summarizes. It begins with the entry that has the earliest time at or after
	// From, and ends before the entry that has the earliest time at or after To.
	Range evidence.Range
}

// A Position holds the sums of an account at one moment.
type Position struct {
	ToppedUp   money.Amount // minus reversed amounts
	Held       money.Amount // held and unresolved
	Unresolved money.Amount // part of Held
	Captured   money.Amount
}

// Balance returns the amount that the agent may still spend. A negative balance is the debt of the agent.
func (p Position) Balance() money.Amount {
	return money.Amount{Nano: p.ToppedUp.Nano - p.Held.Nano - p.Captured.Nano, Currency: p.ToppedUp.Currency}
}

// A StatementLine summarizes the charges of one intent under one rule. A charge counts in every period in which its state changes: a charge
// that is held in one period and captured in the next appears in both, once as Held and once as Captured.
type StatementLine struct {
	Intent, Rule                         string
	Held, Captured, Released, Unresolved Charges
}

// Charges is the number of calls, and their total cost.
type Charges struct {
	Calls  int64
	Amount money.Amount
}

// ChargedCalls are the calls of one account that a statement counts as captured, for one intent, rule, price, agreement and policy. A
// call that is held in one period and captured in the next belongs to the next.
type ChargedCalls struct {
	Intent, Rule string
	Price        money.Amount // the price of each of these calls
	Calls        int64
	AgreementID  pat.AgreementID
	PolicyDigest string
}
