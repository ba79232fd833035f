package a2a

import (
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// The names of metadata for x402 payments. See x402 version 2, specs/transports-v2/a2a.md.
const (
	metaPayment  = "x402.payment.payload"
	metaStatus   = "x402.payment.status"
	metaRequired = "x402.payment.required"
	metaReceipts = "x402.payment.receipts"
	metaError    = "x402.payment.error"
)

// A paymentMetadata is what the status of a task states about payments. Required and settlement are JSON x402 documents; nil: none.
type paymentMetadata struct {
	status               string
	required, settlement []byte
	failure              reason.Reason // empty: the payment did not fail
}

// paymentOf returns the metadata of a task, or nil if the task is not about a payment.
func paymentOf(t *task) *paymentMetadata {
	if t.refusal == nil {
		return &paymentMetadata{status: "payment-completed", settlement: t.settlement}
	}
	f := t.refusal
	switch {
	case f.Reason == reason.PaymentFailed:
		return &paymentMetadata{status: "payment-failed", required: f.Terms, settlement: f.Settlement, failure: f.Reason}
	case f.Settlement != nil: // the payment is credited, although the call was refused or failed
		return &paymentMetadata{status: "payment-completed", required: f.Terms, settlement: f.Settlement}
	case f.Terms != nil:
		return &paymentMetadata{status: "payment-required", required: f.Terms}
	}
	return nil
}

// append appends the metadata. It appends nothing for nil.
func (p *paymentMetadata) append(w *strictjson.Writer) {
	if p == nil {
		return
	}
	w.Text(metaStatus, p.status)
	if p.required != nil {
		w.JSON(metaRequired, p.required)
	}
	if p.settlement != nil {
		w.JSON(metaReceipts, append(append([]byte{'['}, p.settlement...), ']'))
	}
	if p.failure != "" {
		w.Text(metaError, string(p.failure))
	}
}
