package billing

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// maxRefundName is the maximum length of RefundRequest.Name, in bytes: with the prefix and the execution id, it is a reference in the
// ledger.
const maxRefundName = 128

// A RefundRequest refunds a captured charge.
type RefundRequest struct {
	api.Record `json:"-"` // identifies the execution
	Amount     string     `json:"amount,omitempty"` // such as 0.25 EUR; empty: all that is left of the charge
	Name       string     `json:"name,omitempty"`   // the operator's name for the refund: with the same name, it is made only once
	Reason     string     `json:"reason"`           // one line of at most 512 bytes; the credit note shows it
}

// Details returns the details of the change for the audit stream.
func (r RefundRequest) Details() map[string]string {
	return map[string]string{"amount": r.Amount, "name": r.Name, "reason": r.Reason}
}

// A Refund is a captured charge, or a part of it, that was returned to the credit of its agent.
type Refund struct {
	Number      string      `json:"number"` // the number of the credit note
	At          time.Time   `json:"at"`
	AgentID     pat.AgentID `json:"agent_id"`
	ExecutionID string      `json:"execution_id"`
	Intent      string      `json:"intent"`
	Rule        string      `json:"rule,omitempty"`
	Amount      string      `json:"amount"`
	Charge      string      `json:"charge"` // the amount that the call was charged
	Currency    string      `json:"currency"`
	ChargedAt   time.Time   `json:"charged_at"`
	Reason      string      `json:"reason"`
	Name        string      `json:"name,omitempty"`
	Reference   string      `json:"reference"`          // the reference of the entry of kind top-up in the ledger
	Receipt     string      `json:"receipt,omitempty"`  // the entry, signed; only in the answer to the refund
	Repeated    bool        `json:"repeated,omitempty"` // the refund had been made before, so nothing was changed
}

// Details returns the details of the change for the audit stream.
func (r Refund) Details() map[string]string {
	return map[string]string{"amount": r.Amount + " " + r.Currency, "number": r.Number, "repeated": api.Flag(r.Repeated)}
}

// creditNotePrefix begins the number of a credit note.
const creditNotePrefix = "CN-"

// creditNoteNumber returns the number of a credit note as documents show it.
func creditNoteNumber(n int64) string { return fmt.Sprintf(creditNotePrefix+"%06d", n) }

func showRefund(r store.Refund) Refund {
	return Refund{
		Number: creditNoteNumber(r.Number), At: r.At.UTC(), AgentID: r.AgentID, ExecutionID: r.ExecutionID, Intent: r.Intent, Rule: r.Rule,
		Amount: r.Amount.Decimal(), Charge: r.Charge.Decimal(), Currency: r.Amount.Currency, ChargedAt: r.ChargedAt.UTC(), Reason: r.Reason,
		Name: r.Name, Reference: r.Reference(),
	}
}

// Refund returns a captured charge, or a part of it, to the credit of the agent: never more than was charged. The refund is a top-up in the
// ledger and in the chain of the account, and has a credit note. Errors: store.ErrNotFound, store.ErrNotCaptured, *store.RefundError,
// store.ErrReferenceUsed, money.ErrAmount.
func (o *Operations) Refund(ctx context.Context, s *service.Service, r RefundRequest) (_ Refund, err error) {
	asked := store.Refund{Service: s.ID, ExecutionID: r.ID, Name: r.Name, Reason: r.Reason}
	switch {
	case len(r.Name) > maxRefundName || !api.Printable(r.Name):
		return Refund{}, api.WrongMember("name", fmt.Sprintf("must be one line of at most %d bytes", maxRefundName))
	case strings.TrimSpace(r.Reason) == "" || len(r.Reason) > api.MaxText || !api.Printable(r.Reason):
		return Refund{}, api.WrongMember("reason", fmt.Sprintf("must be one line of 1 to %d bytes", api.MaxText))
	case r.Amount != "":
		if asked.Amount, err = money.Parse(r.Amount); err != nil {
			return Refund{}, err
		}
	}
	if asked.Document, err = o.creditNoteRecord(ctx, s, r.ID); err != nil {
		return Refund{}, err
	}
	made, repeated, err := o.Store.Refund(ctx, asked)
	if err != nil {
		return Refund{}, err
	}
	out := showRefund(made)
	out.Repeated = repeated
	out.Receipt, err = o.refundReceipt(ctx, made)
	return out, err
}

// refundReceipt returns the signed entry of a refund, or an empty string if there is no key for receipts or the entry was deleted.
func (o *Operations) refundReceipt(ctx context.Context, r store.Refund) (string, error) {
	if o.Receipts == nil {
		return "", nil
	}
	list, err := o.Store.Entries(ctx, store.EntryFilter{
		Service: r.Service, AgentID: r.AgentID, Currency: r.Amount.Currency, After: r.K - 1, Limit: 1,
	})
	if _, expired := errors.AsType[*store.ExpiredError](err); expired {
		return "", nil
	}
	if err != nil || len(list) == 0 || list[0].K != r.K {
		return "", err
	}
	return o.Receipts.Receipt(ctx, list[0].Bytes)
}

// A RefundQuery selects refunds.
type RefundQuery struct {
	Service string `query:"service"`
	api.PageRequest
	AgentID     pat.AgentID `query:"agent_id"`     // empty: all
	ExecutionID string      `query:"execution_id"` // empty: all
}

// Refunds lists refunds, newest first.
func (o *Operations) Refunds(ctx context.Context, s *service.Service, q RefundQuery) (_ api.Page[Refund], err error) {
	f := store.RefundFilter{Service: s.ID, AgentID: q.AgentID, ExecutionID: q.ExecutionID, Limit: q.Max()}
	if f.Before, err = documentNumber(creditNotePrefix, q.After); err != nil {
		return api.Page[Refund]{}, err
	}
	list, err := o.Store.Refunds(ctx, f)
	return api.PageOf(list, f.Limit, showRefund, func(r store.Refund) string { return creditNoteNumber(r.Number) }), err
}

// A RevenueQuery selects a period, and how the revenue is grouped.
type RevenueQuery struct {
	Service string `query:"service"`
	api.PageRequest
	By   string    `query:"by" enum:"intent,agent,month"` // intent, agent or month; empty: month
	From time.Time `query:"from"`                         // zero: all that is kept, and until now
	To   time.Time `query:"to"`
}

// Revenue adds up captured charges and refunds. Amounts are exact decimals.
type Revenue struct {
	Name     string `json:"name"` // the intent, the agent, or the month (UTC)
	Currency string `json:"currency"`
	Calls    int64  `json:"calls"`
	Captured string `json:"captured"`
	Refunded string `json:"refunded"`
	Net      string `json:"net"` // captured minus refunded; below zero if more was refunded than captured in the period
}

func showRevenue(r store.Revenue) Revenue {
	captured, refunded := sumOf(r.Captured), sumOf(r.Refunded)
	return Revenue{
		Name: r.Name, Currency: r.Currency, Calls: r.Calls, Captured: money.SumDecimal(captured), Refunded: money.SumDecimal(refunded),
		Net: money.SumDecimal(new(big.Int).Sub(captured, refunded)),
	}
}

// sumOf returns a sum in units of 10⁻⁹.
func sumOf(s store.Sum) *big.Int {
	sum := new(big.Int).Mul(big.NewInt(s.Units), big.NewInt(money.Unit))
	return sum.Add(sum, big.NewInt(s.Nano))
}

// Revenue adds up the captured charges of a period by intent, agent or month, and subtracts the refunds of the period.
func (o *Operations) Revenue(ctx context.Context, s *service.Service, q RevenueQuery) (api.Page[Revenue], error) {
	f := store.RevenueFilter{
		Service: s.ID, By: store.RevenueGroup(q.By), From: q.From, To: q.To, After: q.After, Limit: q.Max(),
	}
	if f.By == "" {
		f.By = store.ByMonth
	}
	if f.After != "" && !strings.Contains(f.After, " ") {
		return api.Page[Revenue]{}, api.WrongParameter("after", "must be a name, a space and a currency")
	}
	list, err := o.Store.Revenue(ctx, f)
	if err != nil {
		return api.Page[Revenue]{}, err
	}
	limit := f.Limit
	if f.By == store.ByMonth {
		limit = len(list) + 1 // all of them
	}
	return api.PageOf(list, limit, showRevenue, func(r store.Revenue) string { return r.Name + " " + r.Currency }), nil
}

// RefundRefusal returns the refusal of a refund, or nil for other errors.
func RefundRefusal(err error) *reason.Refusal {
	if over, ok := errors.AsType[*store.RefundError](err); ok {
		message := over.Left.String() + " of the charge is left to refund."
		if over.Left.IsZero() {
			message = "The whole charge was refunded before."
		}
		return reason.AlreadySettled.Refusal(message).With("left", over.Left.Decimal()).
			With("suggestion", "uimgate usage refunds --execution lists the refunds of the call.").Because(err)
	}
	if errors.Is(err, store.ErrNotCaptured) {
		return reason.AlreadySettled.Refusal("The call has no captured charge.").
			With(
				"suggestion",
				"Only captured charges can be refunded. A held charge settles itself, and uimgate usage resolve settles an unresolved one.",
			).
			Because(err)
	}
	return nil
}
