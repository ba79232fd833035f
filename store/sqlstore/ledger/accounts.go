package ledger

import (
	"math"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
)

// An Account holds what one agent paid in and used in one currency, in billionths of its unit.
type Account struct {
	AccountKey

	ToppedUp, Held, Captured int64 // Held: held and unresolved
	// Pooled means that what the account owes counts towards the pool of its service and currency.
	Pooled bool
}

// An AccountKey names an account.
type AccountKey struct{ Service, AgentID, Currency string }

// owes returns what was used beyond what was paid in.
func (a Account) owes() int64 { return max(0, a.Held+a.Captured-a.ToppedUp) }

// inPool returns what the account adds to its pool.
func (a Account) inPool() int64 {
	if !a.Pooled {
		return 0
	}
	return a.owes()
}

// hold adds a charge, if the agent then still owes no more than it may.
func (a Account) hold(charge money.Amount, b store.Billing) (Account, bool) {
	used := a.Held + a.Captured
	if charge.Nano > math.MaxInt64-used {
		return a, false
	}
	if over := used + charge.Nano - a.ToppedUp; over > ownCredit(charge.Currency, b) {
		return a, false
	}
	a.Held += charge.Nano
	a.Pooled = b.Unapproved
	return a, true
}

// ownCredit returns how much one agent may owe in a currency.
func ownCredit(currency string, b store.Billing) int64 {
	most := credit(currency, b)
	if !b.Unapproved || b.Newcomers.Currency == "" {
		return most
	}
	return min(most, credit(currency, store.Billing{Prepaid: b.Prepaid, Credit: b.Newcomers}))
}

// credit returns how much may be owed in a currency, by one approved agent or by all unapproved ones together.
func credit(currency string, b store.Billing) int64 {
	if b.Prepaid || b.Credit.Currency != currency {
		return 0
	}
	return max(0, b.Credit.Nano)
}
