package ledger

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// An Account holds the amounts that one agent paid in and used in one currency, in billionths of the unit of that currency.
type Account struct {
	AccountKey

	ToppedUp, Held, Captured int64 // Held includes unresolved amounts
	// Pooled means that the debt of the account counts towards the pool of its service and currency.
	Pooled bool
	// Lines is the number of entries that the chain of the account has had, and Head is the leaf hash of the last one. See package evidence.
	Lines int64
	Head  evidence.Hash
}

// An AccountKey identifies an account.
type AccountKey struct{ Service, AgentID, Currency string }

// Compare orders keys in the order in which all writers lock them.
func (k AccountKey) Compare(o AccountKey) int {
	return cmp.Or(strings.Compare(k.Service, o.Service), strings.Compare(k.AgentID, o.AgentID), strings.Compare(k.Currency, o.Currency))
}

// Altered returns the error for an account whose entries were altered.
func (k AccountKey) Altered(format string, args ...any) error {
	return &store.AlteredError{
		Service: k.Service, AgentID: pat.AgentID(k.AgentID), Currency: k.Currency, Detail: fmt.Sprintf(format, args...),
	}
}

// owes returns the debt: the amount used minus the amount paid in, but not less than 0.
func (a Account) owes() int64 { return max(0, a.Held+a.Captured-a.ToppedUp) }

// inPool returns the amount that the account adds to its pool.
func (a Account) inPool() int64 {
	if !a.Pooled {
		return 0
	}
	return a.owes()
}

// hold adds a charge. It returns false if the agent would then owe more than permitted.
func (a Account) hold(charge money.Amount, b store.Billing) (Account, bool) {
	used := a.Held + a.Captured
	if charge.Nano > math.MaxInt64-used {
		return a, false
	}
	if over := used + charge.Nano - a.ToppedUp; over > b.AgentLimit(charge.Currency).Nano {
		return a, false
	}
	a.Held += charge.Nano
	a.Pooled = b.Unapproved
	return a, true
}

// short returns the error for a charge that exceeds the credit of the agent or, if pooled is set, the common credit of all unapproved
// agents.
func (a Account) short(charge money.Amount, b store.Billing, pooled bool) *store.CreditError {
	of := func(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: charge.Currency} }
	return &store.CreditError{
		Charge: charge, PaidIn: of(a.ToppedUp), Used: of(a.Held + a.Captured), Limit: b.AgentLimit(charge.Currency), Pooled: pooled,
	}
}

// Compare orders keys in the order in which all writers lock them.
func (k PoolKey) Compare(o PoolKey) int {
	return cmp.Or(strings.Compare(k.Service, o.Service), strings.Compare(k.Currency, o.Currency))
}

// A Pool is the new value of a row of the pools table; amounts are billionths of a unit.
type Pool struct {
	PoolKey

	Owed, Faded int64
	FadedAt     int64 // in nanoseconds since 1970 UTC; 0: never
}

// A PoolKey identifies a pool.
type PoolKey struct{ Service, Currency string }

// A pool is the common debt of the unapproved agents of a service in one currency. A part of this debt may have faded: it is still owed,
// but no longer counts towards the credit.
type pool struct {
	owed, faded int64     // as read; faded is part of owed
	fadedAt     time.Time // the time for which faded is computed; if zero, fading starts with the next charge
	// charged means that the transaction charges the pool; faded and fadedAt must then be written. owed must then not exceed most, which
	// includes the faded part.
	charged bool
	most    int64

	storedFaded, storedAt int64 // faded and fadedAt as stored
}

// fade lets a part of the debt fade for the time from fadedAt to now. An amount equal to credit fades in store.PoolFades.
func (p *pool) fade(now time.Time, credit int64) {
	past, part := now.Sub(p.fadedAt), int64(0)
	switch {
	case p.fadedAt.IsZero(), past < 0: // the clock was set back
	case past >= store.PoolFades:
		part = credit
	default:
		part = int64(float64(credit) * (float64(past) / float64(store.PoolFades)))
	}
	p.faded, p.fadedAt = min(p.owed, p.faded+min(part, math.MaxInt64-p.faded)), now
}
