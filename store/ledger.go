package store

import (
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

// An Account holds the sums of one agent in one currency.
type Account struct {
	AgentID  pat.AgentID
	Currency string
	ToppedUp money.Amount // minus reversed amounts
	Held     money.Amount // held and unresolved
	Captured money.Amount
}

// An Entry is one line of the ledger: a change of state of an execution with a charge, or a top-up. Entries are never changed.
type Entry struct {
	Seq         int64 // increases in the order of commits
	At          time.Time
	Service     string
	AgentID     pat.AgentID
	ExecutionID string
	Intent      string
	Rule        string
	Amount      money.Amount // below zero only if a top-up is reversed
	From, To    State        // From is empty when the charge was first held; both are empty for a top-up
	By          string       // agent, sweeper, service or operator
	Reference   string       // for a top-up; empty means none
}

// A TopUp adds to the amount that an agent has paid in. If Reverse is set, the amount is subtracted instead: the ledger entry has a
// negative amount, and the agent may then owe the part that it had already spent.
type TopUp struct {
	Service string
	AgentID pat.AgentID
	Amount  money.Amount // must be above zero
	Reverse bool
	// Reference is the operator's name for this change, such as the number of a payment; empty means none. While the entry is kept, the
	// ledger of the service accepts each reference only once.
	Reference string
}

// A Filter restricts a listing of executions, entries or accounts; zero fields restrict nothing.
type Filter struct {
	Service string
	AgentID pat.AgentID
	State   State  // the state of executions, or To of entries
	After   string // the cursor of the last row returned: an ID, a Seq, or an agent id, a space and a currency
	Limit   int    // 100 if not set, and at most 1000
	// BalanceBelow restricts accounts to those in the currency of BalanceBelow whose balance (ToppedUp minus Held and Captured) is below it.
	// If it is set, Service must be set too.
	BalanceBelow money.Amount
}
