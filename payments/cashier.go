package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/payments/x402"
	"github.com/uimgate/uimgate/store"
)

// A Book records payments, and enters them in the ledger: see ledger.Ledger of store/sqlstore.
type Book interface {
	Payment(ctx context.Context, service, reference string) (store.Payment, error)
	OpenPayment(ctx context.Context, service, agent string) (p store.Payment, found bool, err error)
	DuePayments(ctx context.Context, by time.Time, limit int) ([]store.Payment, error)
	Pay(ctx context.Context, p store.Payment, most money.Amount) (out store.Payment, known bool, err error)
	MovePayment(ctx context.Context, service, reference string, to store.PaymentMove) (store.Payment, error)
	DropPayment(ctx context.Context, service, reference string, after time.Time) error
	Affords(ctx context.Context, service string, agent pat.AgentID, charge money.Amount, billing store.Billing) error
}

// A Config configures a Cashier. All fields are required.
type Config struct {
	Book Book
	Now  func() time.Time
	Log  *zap.Logger
	// Count counts a payment that has reached a state.
	Count func(rail string, state store.PaymentState)
	// Receipt returns a signed receipt of the entry of a payment, or "" if there is none.
	Receipt func(ctx context.Context, service string, agent pat.AgentID, reference string) string
	// Offer returns how agents pay in at a service now, or nil if the gateway does not serve the service.
	Offer func(service string) *Offer
}

// A Cashier takes x402 payments. It asks the facilitator to settle each payment until it knows the outcome, and enters settled payments
// in the ledger, once. It is safe for concurrent use, even if several processes share one database.
type Cashier struct{ Config }

// NewCashier returns a Cashier.
func NewCashier(c Config) *Cashier { return &Cashier{c} }

// A Payer is an agent that pays in at a service.
type Payer struct {
	Service  string
	Agent    pat.AgentID
	Offer    *Offer
	Approved bool // by the operator
	Resource x402.Resource
}

// A Paid is a payment that is entered in the ledger.
type Paid struct {
	Amount    money.Amount
	Reference string
	Receipt   []byte // the x402.Receipt, as JSON
	Entry     string // signed entry of the ledger, a compact JWS: see package evidence; empty: none
	Repeated  bool   // it was entered before
}

// Take takes a payment of at least the amount least, in the currency of least. It returns when the payment is entered in the ledger. A
// payment that was entered before is not taken again, even if the terms have changed. Once the payment is recorded, Take continues even if
// ctx ends.
//
// The error is a *reason.Refusal, or an error of the store. After reason.PaymentMismatch and reason.StoreUnavailable, nothing was
// paid. After reason.PaymentUnknown, Settle determines the outcome.
func (c *Cashier) Take(ctx context.Context, from Payer, p *x402.Payload, least money.Amount) (Paid, error) {
	had, err := c.Book.Payment(ctx, from.Service, p.Reference())
	if err == nil {
		return c.known(ctx, &from, p, &had, least, true)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return Paid{}, err
	}
	order, err := from.Offer.X402.Terms.Match(p, least, c.Now())
	if mismatch, ok := errors.AsType[*x402.MismatchError](err); ok {
		return Paid{}, c.mismatch(ctx, &from, least, mismatch)
	} else if err != nil {
		return Paid{}, err
	}
	most, err := c.most(ctx, &from, least, order.Amount)
	if err != nil {
		return Paid{}, err
	}
	payment, known, err := c.Book.Pay(ctx, store.Payment{
		Service: from.Service, Reference: p.Reference(), AgentID: from.Agent, Rail: store.RailX402, Kind: store.PaymentTopUp,
		Amount: order.Amount, State: store.PaymentSettling, Digest: p.Digest(), PaymentID: p.ID,
		NextAt: c.Now().Add(lease), AskUntil: order.Until.Add(askedAfter),
	}, most)
	if full, ok := errors.AsType[*store.UnspentError](err); ok {
		return Paid{}, c.mismatch(ctx, &from, least, &x402.MismatchError{Member: "accepted.amount", Problem: fmt.Sprintf(
			"and the %s that the agent has paid in and not used exceed %s together, the maximum for an agent without the operator's approval",
			full.Unspent, full.Most,
		)})
	}
	switch {
	case errors.Is(err, store.ErrPaymentOpen):
		return Paid{}, c.stillOpen(ctx, &from, err)
	case errors.Is(err, store.ErrPaymentIDUsed):
		return Paid{}, reason.PaymentUsed.Refusal("Another payment has the same payment-identifier.").Because(err)
	case errors.Is(err, store.ErrReferenceUsed):
		return Paid{}, reason.PaymentUsed.Refusal("").Because(err)
	case err != nil:
		return Paid{}, err
	case known:
		return c.known(ctx, &from, p, &payment, least, true)
	}
	return c.settle(context.WithoutCancel(ctx), &from, p, &order, payment, least)
}

// Ensure takes a payment that came with a call, so that the agent can be charged one of several amounts. The errors are those of Take.
func (c *Cashier) Ensure(
	ctx context.Context, from Payer, p *x402.Payload, charges []money.Amount, billing store.Billing,
) (paid Paid, err error) {
	var least money.Amount // the least amount that is missing for one of the charges in the currency of the payment
	chosen := false
	for i, charge := range charges {
		missing, err := c.missing(ctx, &from, charge, billing)
		if err != nil {
			return Paid{}, err
		}
		payable := from.Offer.X402.Terms.Takes(p, charge.Currency)
		if i == 0 || payable && (!chosen || missing.Nano < least.Nano) {
			least, chosen = missing, payable
		}
	}
	return c.Take(ctx, from, p, least)
}

// missing returns the smallest payment to ask for before a charge.
func (c *Cashier) missing(ctx context.Context, from *Payer, charge money.Amount, billing store.Billing) (money.Amount, error) {
	err := c.Book.Affords(ctx, from.Service, from.Agent, charge, billing)
	if short, ok := errors.AsType[*store.CreditError](err); ok {
		return from.Offer.Ask(short.Shortfall()), nil
	}
	if least := from.Offer.Minimum; least.Currency == charge.Currency {
		return least, err
	}
	return money.Amount{Currency: charge.Currency}, err
}

// known returns the result for a payment that has been recorded. repeated means that an earlier request began it.
func (c *Cashier) known(
	ctx context.Context, from *Payer, p *x402.Payload, had *store.Payment, least money.Amount, repeated bool,
) (Paid, error) {
	switch {
	case had.AgentID != from.Agent || had.Rail != store.RailX402:
		return Paid{}, reason.PaymentUsed.Refusal("The payment was made by another agent of the service.")
	case had.State == store.PaymentCredited:
		return c.paid(ctx, p, had, repeated)
	case had.State == store.PaymentFailed:
		return Paid{}, c.failed(ctx, from, p, had, least)
	default:
		return Paid{}, c.unknown(had)
	}
}

// most returns the bound of Book.Pay for a payment. The error is a refusal if the payment alone is above Offer.Maximum.
func (c *Cashier) most(ctx context.Context, from *Payer, least, amount money.Amount) (money.Amount, error) {
	most := from.Offer.Maximum
	if most.Currency == "" || most.Currency != amount.Currency {
		return money.Amount{}, nil
	}
	if amount.Nano > most.Nano {
		return most, c.mismatch(ctx, from, least, &x402.MismatchError{
			Member: "accepted.amount", Problem: "is above " + most.String() + ", the largest amount of one payment",
		})
	}
	if from.Approved {
		return money.Amount{}, nil
	}
	return most, nil
}

// settle verifies and settles a payment that has just been recorded.
func (c *Cashier) settle(
	ctx context.Context, from *Payer, p *x402.Payload, order *x402.Order, payment store.Payment, least money.Amount,
) (Paid, error) {
	claim := c.claim(ctx, payment)
	f := from.Offer.X402.Facilitator
	err := f.Verify(ctx, order.Body)
	invalid, refused := errors.AsType[*x402.InvalidError](err)
	switch {
	case refused && invalid.Spent():
		return Paid{}, c.spent(ctx, claim.release(), invalid.Reason)
	case refused:
		return c.end(ctx, from, p, claim.release(), x402.Settlement{Outcome: x402.Failed, Reason: invalid.Reason}, least)
	case err != nil:
		return Paid{}, c.unsent(ctx, claim.release(), err.Error())
	}
	// From here on, the payment may be settled: a process that finds the payload asks the facilitator.
	payment = claim.release()
	asking, err := c.Book.MovePayment(ctx, payment.Service, payment.Reference, store.PaymentMove{
		To: store.PaymentSettling, Payload: order.Body, NextAt: c.Now().Add(lease), After: payment.ChangedAt,
	})
	if err != nil {
		return Paid{}, c.unsent(ctx, payment, err.Error())
	}
	claim = c.claim(ctx, asking)
	settlement := f.Settle(ctx, order.Body, false)
	if settlement.Outcome == x402.Unsent {
		return Paid{}, c.unsent(ctx, claim.release(), settlement.Reason)
	}
	return c.end(ctx, from, p, claim.release(), order.Judge(settlement), least)
}

// end records the outcome of a settlement.
func (c *Cashier) end(
	ctx context.Context, from *Payer, p *x402.Payload, payment store.Payment, s x402.Settlement, least money.Amount,
) (Paid, error) {
	out, err := c.record(ctx, payment, s)
	if err != nil {
		c.Log.Error("outcome of a payment not recorded", zap.String("service", payment.Service), zap.String("reference", payment.Reference),
			zap.Error(err))
		return Paid{}, c.unknown(&payment)
	}
	return c.known(ctx, from, p, &out, least, false)
}

// spent records that the authorization of a new payment was used before. The money may have moved for another
// service, or for this one without a record. So the gateway does not ask the facilitator to settle the payment, and
// the operator decides.
func (c *Cashier) spent(ctx context.Context, payment store.Payment, why string) error {
	out, err := c.Book.MovePayment(ctx, payment.Service, payment.Reference, store.PaymentMove{
		To: store.PaymentUnknown, Reason: why, After: payment.ChangedAt,
	})
	if err != nil {
		return c.unknown(&payment).Because(err)
	}
	c.note(&out)
	return c.unknown(&out)
}

// unsent forgets a payment that the facilitator was not asked to settle.
func (c *Cashier) unsent(ctx context.Context, payment store.Payment, why string) error {
	c.Log.Warn("facilitator not reached", zap.String("service", payment.Service), zap.String("why", why))
	if err := c.Book.DropPayment(ctx, payment.Service, payment.Reference, payment.ChangedAt); err != nil {
		return c.unknown(&payment).Because(err) // another process may be settling it
	}
	return reason.StoreUnavailable.Refusal("The facilitator of payments does not answer at the moment. Nothing was paid.").
		With("suggestion", "Repeat the same request with the same payment after the time in Retry-After.").After(retryUnsent).
		ShedFor(reason.ShedFacilitator)
}

// retryUnsent is the time after which a payer is asked to repeat a payment that was not sent.
const retryUnsent = 5 * time.Second
