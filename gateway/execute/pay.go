package execute

import (
	"context"

	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/payments/x402"
)

// CreditPath is the path of the gateway at which agents pay in without a call.
const CreditPath = "/api/credit"

// namedBy is the prefix of an idempotency key that is made from the id of a payment. It distinguishes such keys from those that agents
// choose.
const namedBy = IdempotencyKey("x402 ")

// adopt uses the id of the payment as the idempotency key of a call that has none, so that a repeated payment repeats the response.
func (e *execution) adopt() {
	if p := e.call.Payment; p != nil && p.ID != "" && e.call.IdempotencyKey == "" && e.current.Payments.X402 != nil {
		e.call.IdempotencyKey = namedBy + IdempotencyKey(p.ID)
	}
}

// pay takes the payment that came with the call, before anything else is reserved for the call. If the call then fails, the payment stays
// as credit of the agent. pay takes no payment for a free call.
func (x *Executor) pay(ctx context.Context, e *execution) (err error) {
	if e.call.Payment == nil {
		return nil
	}
	charges := e.charges()
	if len(charges) == 0 || x.cfg.Cashier == nil || e.current.Payments.X402 == nil {
		e.paymentIgnored = true
		return nil
	}
	x.begins(e, Begin)
	if e.approved, err = x.approved(ctx, e.service.ID, e.claims.Principal()); err != nil {
		return refusal.For(err)
	}
	paid, err := x.cfg.Cashier.Ensure(ctx, e.payer(), e.call.Payment, charges, e.billing())
	if err != nil {
		return refusal.For(err)
	}
	e.paid = &paid
	return nil
}

// charges returns the amounts that the call may cost. The result is empty if the call is free.
func (e *execution) charges() []money.Amount {
	var list []money.Amount
	for _, c := range e.decision.Candidates {
		if !c.Charge.IsZero() {
			list = append(list, c.Charge)
		}
	}
	return list
}

// payer returns the agent that pays, and the intent for which it pays.
func (e *execution) payer() payments.Payer {
	return payments.Payer{
		Service: e.service.ID, Agent: e.claims.Principal().Record(), Offer: &e.current.Payments, Approved: e.approved,
		Resource: x402.Resource{
			URL: e.service.At(executePath), Description: "credit for calls to " + e.intent.ID, MIMEType: "application/json",
		},
	}
}

const executePath = "/api/intents/execute"

// paidBy adds to a refusal the outcome of the payment that came with the call.
func (e *execution) paidBy(f *reason.Refusal) {
	if f != nil && e.paid != nil {
		f.Settlement = e.paid.Receipt
	}
}
