package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
)

// Errors of engines.
var (
	// ErrUnavailable means that the store did not respond, or not in time, and that the caller must deny.
	ErrUnavailable = errors.New("the store is not available")
	// ErrQueueFull means that too many writes are waiting. It comes with ErrUnavailable.
	ErrQueueFull = errors.New("too many writes are waiting")
	// ErrNonceUsed means that the proof was used before.
	ErrNonceUsed = errors.New("the nonce was used before")
	// ErrKeyReused means that the idempotency key was sent with another request.
	ErrKeyReused = errors.New("the idempotency key belongs to another request")
	// ErrInProgress means that the call under this idempotency key is still running.
	ErrInProgress = errors.New("the call under this idempotency key is still running")
	// ErrOutcomeUnknown means that the outcome of the call under this idempotency key is unknown.
	ErrOutcomeUnknown = errors.New("the outcome of the call under this idempotency key is not known")
	// ErrCredit means that the charge is more than the agent may owe or has.
	ErrCredit = errors.New("the charge exceeds the agent's credit")
	// ErrSettled means that the execution was settled before.
	ErrSettled = errors.New("the execution is settled already")
	// ErrReferenceUsed means that the reference of a top-up belongs to another top-up.
	ErrReferenceUsed = errors.New("the reference belongs to another top-up")
	// ErrUsed means that a code or a refresh token is not, or no longer, the valid one.
	ErrUsed = errors.New("it was used before")
	// ErrFull means that there are too many records.
	ErrFull = errors.New("there are as many as may be")
	// ErrShare means that a party has too many records.
	ErrShare = errors.New("the party has as many as one may have")
	// ErrOlder means that there is a newer record.
	ErrOlder = errors.New("a newer one is there")
	// ErrNotFound means that there is no such record.
	ErrNotFound = errors.New("no such record")
	// ErrForgotten means that the ledger of the period is no longer kept. See ForgottenError.
	ErrForgotten = errors.New("the ledger does not reach back so far")
	// ErrPeriod means that a period does not end after it begins.
	ErrPeriod = errors.New("the period must end after it begins")
	// ErrUnbalanced means that an account is not the sum over its ledger.
	ErrUnbalanced = errors.New("an account is not the sum over its ledger")
)

// A LimitError rejects a call because a limit is exhausted.
type LimitError struct {
	limit.Status
	Principal  pat.Principal // empty: a counter that all agents share
	RetryAfter time.Duration // until one more call can be admitted; 0 for a lifetime limit: never
}

func (e *LimitError) Error() string { return fmt.Sprintf("limit %s of %s is used up", e.ID, e.Rate) }

// A ForgottenError rejects a statement that begins where the ledger is no longer complete. It is ErrForgotten.
type ForgottenError struct {
	Kept time.Time // from then on the ledger is complete
}

func (e *ForgottenError) Error() string {
	return fmt.Sprintf("%v: it is whole from %s on", ErrForgotten, e.Kept.UTC().Format(time.RFC3339Nano))
}

// Is reports whether target is ErrForgotten.
func (e *ForgottenError) Is(target error) bool { return target == ErrForgotten }
