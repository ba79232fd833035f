package execute

import (
	"context"

	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// unpaid returns the refusal of a call for which the agent cannot pay. It states the price, the balance of the agent, and where to pay. If
// a payment of the agent has not ended, the refusal is about that payment instead.
func (x *Executor) unpaid(ctx context.Context, e *execution, short *store.CreditError) *reason.Refusal {
	demand := e.service.Payments.Demand(e.service.ID, string(e.claims.Principal().Record()), short)
	byX402 := x.cfg.Cashier != nil && e.current.Payments.Takes(short.Charge.Currency)
	if byX402 {
		demand.CreditURL = e.service.At(CreditPath)
	}
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
	f = f.With("payment", demand.Members()).Because(short)
	if !byX402 {
		return f
	}
	asked, err := x.cfg.Cashier.Ask(ctx, e.payer(), short.Shortfall(), f)
	if err != nil {
		return refusal.For(err)
	}
	return asked
}
