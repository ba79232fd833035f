package admin

import (
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// refusalFor converts an error into a Refusal for an operator.
func refusalFor(err error) *reason.Refusal {
	if f, ok := errors.AsType[*reason.Refusal](err); ok {
		return f
	}
	if forgotten, ok := errors.AsType[*store.ForgottenError](err); ok {
		kept := forgotten.Kept.UTC().Format(time.RFC3339Nano)
		return reason.PeriodForgotten.Refusal("The ledger is complete only from "+kept+" on.").With("kept", kept).Because(err)
	}
	if f := billing.RefundRefusal(err); f != nil {
		return f
	}
	if f := billing.MoveRefusal(err); f != nil {
		return f
	}
	switch {
	case errors.Is(err, pat.ErrNotFound), errors.Is(err, keys.ErrNoKey), errors.Is(err, store.ErrNotFound):
		return reason.NoSuchRecord.Refusal("").Because(err)
	case errors.Is(err, store.ErrSettled):
		return reason.AlreadySettled.Refusal("").Because(err)
	case errors.Is(err, store.ErrFull):
		return reason.MalformedRequest.Refusal(fmt.Sprintf("%d stops are in force, which is the maximum: resume some, or block agents instead.",
			store.MostStops)).Because(err)
	case errors.Is(err, store.ErrReferenceUsed):
		return reason.ReferenceUsed.Refusal("").Because(err)
	case errors.Is(err, store.ErrPeriod):
		return reason.MalformedRequest.Refusal("The period must end after it begins.").Because(err)
	case errors.Is(err, money.ErrAmount):
		return reason.MalformedRequest.Refusal(
			"The amount is invalid. It must be a positive amount such as 10 USD with at most nine decimal places, " +
				"and a reversal must not exceed what was topped up.").Because(err)
	case errors.Is(err, pat.ErrBadExport):
		return reason.EvidenceInvalid.Refusal("").Because(err)
	case errors.Is(err, store.ErrAltered):
		return reason.EvidenceInvalid.Refusal("The ledger was altered: run uimgate verify-ledger.").Because(err)
	case errors.Is(err, pat.ErrKeyTaken):
		return reason.KeyTaken.Refusal("The key belongs to another agent of this service.").
			With("suggestion", "A key can belong to only one agent: use another key.").Because(err)
	}
	return refusal.For(err)
}
