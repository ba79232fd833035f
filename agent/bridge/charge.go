package bridge

import (
	"errors"
	"net/http"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/money"
)

// chargedFor returns the charge of a call. known is false if the charge is unknown; the reservation then stays.
func chargedFor(r agent.Result, err error, reserved *budget.Reservation) (charged money.Amount, known bool) {
	if err == nil {
		if r.Charge != nil {
			return amountOf(r.Charge), true
		}
		return money.Amount{}, reserved.Amount().IsZero() // a service that states no charge may still have charged
	}
	if unknown, ok := errors.AsType[*unknownError](err); ok {
		if refusal, ok := errors.AsType[*agent.Error](unknown.err); ok && refusal.Charge != nil {
			charged = amountOf(refusal.Charge)
		}
		return charged, !charged.IsZero()
	}
	if _, lost := errors.AsType[*agent.LostError](err); lost {
		return money.Amount{}, false
	}
	if unsent(err) {
		return money.Amount{}, true
	}
	if refusal, ok := errors.AsType[*agent.Error](err); ok {
		return chargedDespite(refusal)
	}
	if failure, ok := errors.AsType[*fetch.Error](err); ok && failure.Sent {
		return money.Amount{}, false
	}
	return money.Amount{}, true
}

// unsent reports whether a call was not sent because its PAT could not be renewed. A *fetch.Error in err then belongs to the renewal.
func unsent(err error) bool {
	_, renewing := errors.AsType[*agent.RenewalError](err)
	_, lost := errors.AsType[*agent.LostError](err)
	return renewing && !lost
}

// chargedDespite implements chargedFor for an error response of the service.
func chargedDespite(e *agent.Error) (charged money.Amount, known bool) {
	switch {
	case e.Charge != nil:
		return amountOf(e.Charge), true
	case e.Outcome == "not_sent", e.Outcome == "failed":
		return money.Amount{}, true
	case e.Outcome != "", e.Status >= http.StatusInternalServerError, e.Status/100 == 2, e.Is(agent.ErrOutcomeUnknown),
		e.Is(agent.ErrIdempotencyInProgress):
		return money.Amount{}, false
	}
	return money.Amount{}, true
}

// amountOf returns the part of the budget that a charge uses: the whole amount, unless the charge was released.
func amountOf(c *agent.Charge) money.Amount {
	if c.State == "released" {
		return money.Amount{}
	}
	return c.Amount
}
