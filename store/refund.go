package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

// RefundPrefix begins the reference of a refund in the ledger: the prefix, the execution id, a colon, and the name of the refund. The
// operator's own references must not begin with it.
const RefundPrefix = "refund:"

// A Refund returns a captured charge, or a part of it, to the credit of its agent. In the ledger, it is a top-up.
type Refund struct {
	Service     string
	ExecutionID string
	Amount      money.Amount // in a request, a zero Amount means all that is left of the charge
	Name        string       // the operator's name for the refund, unique for each execution; a refund with the same name is made only once
	Reason      string
	Document    string // JSON: additional content of the credit note; the store keeps that of the first request

	// The store sets the following fields.
	AgentID      pat.AgentID
	Intent, Rule string
	Charge       money.Amount // the charge of the execution
	ChargedAt    time.Time    // when it was captured
	Number       int64        // the number of its credit note; the numbers of a service count up from 1 without gaps
	At           time.Time
	K            int64 // the number of the entry in the chain of the account
}

// Reference returns the reference of the refund in the ledger.
func (r *Refund) Reference() string { return RefundPrefix + r.ExecutionID + ":" + r.Name }

// ErrNotCaptured means that an execution has no captured charge, so nothing can be refunded: its charge is held, unresolved or released, or
// the call is free.
var ErrNotCaptured = errors.New("the call has no captured charge")

// A RefundError means that a refund exceeds what is left of the charge after earlier refunds.
type RefundError struct{ Left money.Amount }

func (e *RefundError) Error() string {
	return fmt.Sprintf("%s of the charge is left to refund", e.Left)
}

// A RefundFilter restricts a listing of refunds.
type RefundFilter struct {
	Service     string
	AgentID     pat.AgentID // empty: all agents
	ExecutionID string      // empty: all
	Number      int64       // of the credit note; 0: all
	Before      int64       // only credit notes with a lower number; 0: all
	Limit       int         // 100 if not set, and at most 1000
}

// A RevenueGroup is the property that groups revenue.
type RevenueGroup string

// The groups.
const (
	ByIntent RevenueGroup = "intent"
	ByAgent  RevenueGroup = "agent"
	ByMonth  RevenueGroup = "month" // calendar months, UTC
)

// A RevenueFilter selects the captured charges and the refunds of a period.
type RevenueFilter struct {
	Service  string
	By       RevenueGroup
	From, To time.Time // as in StatementFilter
	// After is Name, a space and the currency of the last row returned. See Filter for Limit. Neither applies to ByMonth.
	After string
	Limit int
}

// Revenue adds up captured charges, and refunds of charges, in one currency. A charge counts at the time of its capture, and a refund at
// the time at which it was made.
type Revenue struct {
	Name     string // the name of the group: an intent, an agent, or a month such as 2026-11
	Currency string
	Calls    int64 // the number of captured charges
	Captured Sum
	Refunded Sum
}

// A Sum is a sum of amounts: Units of the currency plus Nano billionths of a unit. It may exceed the range of a money.Amount, and Nano may
// exceed one unit.
type Sum struct{ Units, Nano int64 }

// Plus returns the sum of two sums.
func (s Sum) Plus(o Sum) Sum {
	const unit = money.Unit
	nano := s.Nano%unit + o.Nano%unit
	return Sum{Units: s.Units + o.Units + s.Nano/unit + o.Nano/unit + nano/unit, Nano: nano % unit}
}
