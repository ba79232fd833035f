package execute

import (
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// unpaid returns the refusal of a call for which the agent cannot pay. It states the price, what the agent has, and where to pay.
func (e *execution) unpaid(short *store.CreditError) *reason.Refusal {
	demand := e.service.Payments.Demand(e.service.ID, string(e.claims.Principal().Record()), short)
	price := "The call costs " + demand.Price + " " + demand.Currency
	var f *reason.Refusal
	switch {
	case short.Pooled:
		f = reason.NewcomersExhausted.Refusal(price + ". The credit that all agents without the operator's approval share is used up.").
			After(short.RetryAfter)
	case short.Limit.IsZero():
		f = reason.PolicyRequiresPayment.Refusal(price + ", and the agent's balance is " + demand.Balance + " " + demand.Currency + ".")
	default:
		f = reason.PolicyRequiresPayment.Refusal(price + ". The agent owes " + demand.Owed + " " + demand.Currency + " of at most " +
			demand.Limit + " " + demand.Currency + ".")
	}
	if advice := demand.Advice(); advice != "" && !short.Pooled {
		f.With("suggestion", advice)
	} else if advice != "" {
		f.With("suggestion", f.Suggestion()+" "+advice)
	}
	return f.With("payment", demand.Members()).Because(short)
}
