package store

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

// Errors of engines.
var (
	// ErrUnavailable means that the store did not respond, or not in time. The caller must deny the call.
	ErrUnavailable = errors.New("the store is not available")
	// ErrQueueFull means that too many writes are waiting. The error also wraps ErrUnavailable.
	ErrQueueFull = errors.New("too many writes are waiting")
	// ErrNonceUsed means that the nonce of the request was used before.
	ErrNonceUsed = errors.New("the nonce was used before")
	// ErrKeyReused means that the idempotency key was used for another request.
	ErrKeyReused = errors.New("the idempotency key belongs to another request")
	// ErrInProgress means that the call under this idempotency key is still running.
	ErrInProgress = errors.New("the call under this idempotency key is still running")
	// ErrOutcomeUnknown means that the outcome of the call under this idempotency key is unknown.
	ErrOutcomeUnknown = errors.New("the outcome of the call under this idempotency key is unknown")
	// ErrBudgetChanged means that the person has changed the budget of the consent since the call was decided.
	ErrBudgetChanged = errors.New("the budget of the consent was changed")
	// ErrCredit means that the charge exceeds the credit of the agent or, if the agent pays in advance, its balance.
	ErrCredit = errors.New("the charge exceeds the agent's credit")
	// ErrSettled means that the execution is already settled.
	ErrSettled = errors.New("the execution is already settled")
	// ErrReferenceUsed means that the reference of a top-up belongs to another top-up.
	ErrReferenceUsed = errors.New("the reference belongs to another top-up")
	// ErrUsed means that a code or a refresh token is not valid, or is no longer valid.
	ErrUsed = errors.New("the code or the refresh token is not valid, or no longer valid")
	// ErrFull means that there are too many records.
	ErrFull = errors.New("the maximum number of records has been reached")
	// ErrShare means that one source has too many records, although there is space for records of other sources.
	ErrShare = errors.New("the source has reached its maximum number of records")
	// ErrOlder means that a newer record is already stored.
	ErrOlder = errors.New("a newer record is already stored")
	// ErrNotFound means that there is no such record.
	ErrNotFound = errors.New("no such record")
	// ErrForgotten means that the ledger no longer covers the period. See ForgottenError.
	ErrForgotten = errors.New("the ledger does not go back that far")
	// ErrPeriod means that a period does not end after it begins.
	ErrPeriod = errors.New("the period must end after it begins")
	// ErrUnbalanced means that an account does not equal the sum of its ledger entries.
	ErrUnbalanced = errors.New("an account does not equal the sum of its ledger entries")
)

// An EarlierError rejects a call because of the earlier execution under its idempotency key. It wraps ErrInProgress or ErrOutcomeUnknown.
type EarlierError struct {
	Err         error
	ExecutionID string // the id of the earlier execution, which belongs to the same agent
}

func (e *EarlierError) Error() string { return e.Err.Error() }

func (e *EarlierError) Unwrap() error { return e.Err }

// A LimitError rejects a call because a limit is exhausted.
type LimitError struct {
	limit.Status
	Principal  pat.Principal // empty for a counter that all agents share
	RetryAfter time.Duration // time until one more call can be admitted; 0 for a lifetime limit, which never resets
	Restored   bool          // the limit is held back because the state was restored: see RestoreUsed
}

func (e *LimitError) Error() string { return fmt.Sprintf("limit %s of %s is used up", e.ID, e.Rate) }

// A CreditError rejects a call because its charge exceeds what the agent can spend. It matches ErrCredit. All amounts are in the currency
// of the charge, and none is negative.
type CreditError struct {
	Charge money.Amount
	PaidIn money.Amount
	Used   money.Amount // the sum of all held, unresolved and captured charges
	Limit  money.Amount // the largest amount that the agent alone may owe
	// Pooled means that the charge fits the credit of the agent but exceeds the common credit of all unapproved agents. If none of them causes
	// another charge, the call can succeed after RetryAfter; 0 means that this time is unknown.
	Pooled     bool
	RetryAfter time.Duration
}

func (e *CreditError) Error() string {
	if e.Pooled {
		return "the charge exceeds the common credit of unapproved agents"
	}
	return ErrCredit.Error()
}

// Is reports whether target is ErrCredit.
func (e *CreditError) Is(target error) bool { return target == ErrCredit }

// Balance returns what the agent has paid in and not used. It is negative if the agent owes.
func (e *CreditError) Balance() money.Amount {
	return money.Amount{Nano: e.PaidIn.Nano - e.Used.Nano, Currency: e.Charge.Currency}
}

// Shortfall returns the smallest payment after which the agent can make the call. If the common credit is used up, this is the payment
// after which the agent owes nothing.
func (e *CreditError) Shortfall() money.Amount {
	out := e.Charge
	owed := e.Used.Nano - e.PaidIn.Nano
	if !e.Pooled {
		owed -= e.Limit.Nano
	}
	if owed > math.MaxInt64-out.Nano {
		out.Nano = math.MaxInt64
		return out
	}
	out.Nano = max(0, out.Nano+owed)
	return out
}

// A ForgottenError rejects a statement that begins before the ledger does. It matches ErrForgotten.
type ForgottenError struct {
	Kept time.Time // the ledger is complete from this time on
}

func (e *ForgottenError) Error() string {
	return fmt.Sprintf("%v: it is complete from %s on", ErrForgotten, e.Kept.UTC().Format(time.RFC3339Nano))
}

// Is reports whether target is ErrForgotten.
func (e *ForgottenError) Is(target error) bool { return target == ErrForgotten }
