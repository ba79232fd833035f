package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

// A StatementFilter says whose statements, and of which time.
type StatementFilter struct {
	Service string
	AgentID pat.AgentID // empty: of every agent
	// From is the first moment in the period, To the first after it. Zero From: all that is kept; zero To: up to now.
	From, To time.Time
	After    string // agent id, a space and the currency of the last statement seen
	Limit    int    // at most 1000; 100 if not set
}

// A Statement is what happened on one account in a period. The sums are those of the ledger: each part of Closing
// is that part of Opening and what the period added.
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

// Balance is what may still be spent; below zero it is owed.
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

// Errors of Statements and CheckBalance.
var (
	// ErrForgotten means that the ledger of the period is not kept any more.
	ErrForgotten = errors.New("the ledger does not reach back so far")
	// ErrPeriod means that a period does not end after it begins.
	ErrPeriod = errors.New("the period must end after it begins")
	// ErrUnbalanced means that an account is not the sum over its ledger.
	ErrUnbalanced = errors.New("an account is not the sum over its ledger")
)

// A ForgottenError says from when on statements can be given. It is ErrForgotten.
type ForgottenError struct{ Kept time.Time }

func (e *ForgottenError) Error() string {
	return fmt.Sprintf("%v: it is whole from %s on", ErrForgotten, e.Kept.UTC().Format(time.RFC3339Nano))
}

// Is reports whether target is ErrForgotten.
func (e *ForgottenError) Is(target error) bool { return target == ErrForgotten }

// Statements is the part of an engine that sums up the ledger.
type Statements interface {
	// Statements lists one statement for each account, ordered by agent and currency. *ForgottenError where From is in a
	// time whose ledger was removed.
	Statements(ctx context.Context, f StatementFilter) ([]Statement, error)
}
