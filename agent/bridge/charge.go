package bridge

import (
	"errors"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/money"
)

// chargedFor returns the charge of a call. known is false if the charge is unknown; the reservation then stays.
func chargedFor(r agent.Result, err error, reserved *budget.Reservation) (charged money.Amount, known bool) {
	if err == nil {
		if r.Charge != nil {
			return costOf(r.Charge, r.Evidence), true
		}
		return money.Amount{}, reserved.Amount().IsZero() // a service that states no charge may still have charged
	}
	if unknown, ok := errors.AsType[*unknownError](err); ok {
		if refusal, ok := errors.AsType[*agent.Error](unknown.err); ok && refusal.Charge != nil {
			charged = costOf(refusal.Charge, refusal.Evidence)
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
		return costOf(e.Charge, e.Evidence), true
	case e.Outcome == "not_sent", e.Outcome == "failed":
		return money.Amount{}, true
	case e.Outcome != "", e.Status >= http.StatusInternalServerError, e.Status/100 == 2, e.Is(agent.ErrOutcomeUnknown),
		e.Is(agent.ErrIdempotencyInProgress):
		return money.Amount{}, false
	}
	return money.Amount{}, true
}

// costOf returns the part of the budget that a charge uses: the whole amount, unless the charge was released. If there is a receipt, its
// amount and state decide, because the service signed them.
func costOf(c *agent.Charge, e agent.Evidence) money.Amount {
	amount, state := c.Amount, c.State
	if e.Receipt != nil {
		amount, state = e.Receipt.Entry.Amount, e.Receipt.Entry.To
	}
	if state == evidence.StateReleased {
		return money.Amount{}
	}
	return amount
}

// evidenceOf returns the evidence of the charge of a call.
func evidenceOf(r agent.Result, err error) agent.Evidence {
	if refusal, ok := errors.AsType[*agent.Error](err); ok {
		return refusal.Evidence
	}
	return r.Evidence
}

// contradictions describes the problems of the receipt of a call, one on each line. It is empty if there are none.
func contradictions(e agent.Evidence) string {
	var out []string
	for _, p := range e.Discrepancies {
		out = append(out, oneLine(p.String(), maxNote))
	}
	return strings.Join(out, "\n")
}
