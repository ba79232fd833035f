package payments

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/payments/x402"
	"github.com/uimgate/uimgate/store"
)

// undecided is RetryAfter of a payment that waits for the operator.
const undecided = 10 * time.Minute

// Ask adds to the refusal of an agent how it can pay an amount by x402. If a payment of the agent has not ended, Ask returns another
// refusal for that, so that the agent does not pay twice. Ask adds nothing if the service does not accept the currency by x402.
func (c *Cashier) Ask(ctx context.Context, from Payer, amount money.Amount, f *reason.Refusal) (*reason.Refusal, error) {
	if from.Offer.X402 == nil {
		return f, nil
	}
	open, found, err := c.Book.OpenPayment(ctx, from.Service, string(from.Agent))
	if err != nil {
		return nil, err
	}
	if found {
		return c.unknown(&open), nil
	}
	c.terms(&from, amount, f)
	return f, nil
}

// terms adds to a refusal how an agent can pay at least an amount.
func (c *Cashier) terms(from *Payer, least money.Amount, f *reason.Refusal) {
	if most := from.Offer.Maximum; most.Currency == least.Currency && most.Nano < least.Nano {
		advice := "Pay in another way that details.payment names, or ask the operator to approve the agent or to give it credit."
		if from.Approved {
			advice = "Pay it in parts at /api/credit."
		}
		f.With("suggestion", "An x402 payment can be at most "+most.String()+", and "+least.String()+" is missing. "+advice)
		return
	}
	if least.Nano == 0 { // nothing is missing
		least.Nano = 1
	}
	q := x402.Quote{Error: f.Message, Resource: from.Resource, Accepts: from.Offer.X402.Terms.Requirements(from.Offer.Ask(least))}
	if len(q.Accepts) == 0 {
		return
	}
	if text, err := q.JSON(); err == nil {
		f.Terms = text
	}
}

// mismatch returns the refusal of a payment that does not meet the terms. Nothing was sent to the facilitator.
func (c *Cashier) mismatch(ctx context.Context, from *Payer, least money.Amount, err *x402.MismatchError) error {
	f, failed := c.Ask(ctx, *from, least, reason.PaymentMismatch.Refusal("The payment was not taken: "+err.Error()+".").
		With("member", err.Member).Because(err))
	if failed != nil {
		return failed
	}
	return f
}

// failed returns the refusal of a payment that failed. It has fresh terms, unless another payment of the agent has not ended.
func (c *Cashier) failed(ctx context.Context, from *Payer, p *x402.Payload, had *store.Payment, least money.Amount) error {
	f := reason.PaymentFailed.Refusal("The payment failed: "+had.Reason+".").With("error_reason", had.Reason).With("reference", had.Reference)
	r := x402.Receipt{ErrorReason: had.Reason, Payer: p.From, Transaction: had.Tx, Network: p.Accepted.Network}
	if text, err := r.JSON(); err == nil {
		f.Settlement = text
	}
	asked, err := c.Ask(ctx, *from, least, f)
	if err != nil {
		return err
	}
	return asked
}

// paid returns a payment that is entered in the ledger.
func (c *Cashier) paid(ctx context.Context, p *x402.Payload, had *store.Payment, repeated bool) (Paid, error) {
	r := x402.Receipt{Success: true, Payer: p.From, Transaction: had.Tx, Network: p.Accepted.Network}
	text, err := r.JSON()
	return Paid{
		Amount: had.Amount, Reference: had.Reference, Receipt: text, Repeated: repeated,
		Entry: c.Receipt(ctx, had.Service, had.AgentID, had.Reference),
	}, err
}

// unknown returns the refusal of an agent with a payment whose outcome is unknown. It has no terms, so that the agent does not pay twice.
func (c *Cashier) unknown(open *store.Payment) *reason.Refusal {
	after := undecided
	if !open.NextAt.IsZero() {
		after = min(max(time.Second, open.NextAt.Sub(c.Now())), mostPause)
	}
	return reason.PaymentUnknown.Refusal("").With("reference", open.Reference).After(after)
}

// stillOpen returns the refusal of a payment by an agent with another one that has not ended.
func (c *Cashier) stillOpen(ctx context.Context, from *Payer, cause error) error {
	open, found, err := c.Book.OpenPayment(ctx, from.Service, string(from.Agent))
	if err != nil {
		return err
	}
	if !found { // it has ended in the meantime
		return reason.PaymentUnknown.Refusal("").After(time.Second).Because(cause)
	}
	return c.unknown(&open).Because(cause)
}
