package billing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// A CreditNote is the document about a refund. Its parties and its tax are those of the time of the refund.
type CreditNote struct {
	Refund
	Service string `json:"service"`
	Issuer  string `json:"issuer"` // of the service
	Parties
	AgentName string `json:"agent_name,omitempty"` // the operator's name for the agent
	Tax       *Tax   `json:"tax,omitempty"`
	// Invoice is the number of the invoice with the charge, and empty if none was issued.
	Invoice string `json:"invoice,omitempty"`
}

// A creditNoteRecord contains the data that the store keeps for a credit note in addition to the refund.
type creditNoteRecord struct {
	Parties
	taxation
	AgentName string `json:"agent_name,omitempty"`
}

// creditNoteRecord returns the record for a credit note about a call, as JSON, or an empty string if the call does not exist.
func (o *Operations) creditNoteRecord(ctx context.Context, s *service.Service, execution string) (string, error) {
	call, err := o.Store.Execution(ctx, s.ID, execution)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	out := creditNoteRecord{taxation: taxationOf(s)}
	if out.Parties, err = o.parties(ctx, s, call.AgentID); err != nil {
		return "", err
	}
	if out.AgentName, err = api.NameOf(ctx, o.Store, s.ID, call.AgentID); err != nil {
		return "", err
	}
	text, err := json.Marshal(out)
	return string(text), err
}

// CreditNote returns the credit note with a number such as CN-000042. The error is store.ErrNotFound if there is none.
func (o *Operations) CreditNote(ctx context.Context, s *service.Service, r api.Record) (CreditNote, error) {
	number, err := documentNumber(creditNotePrefix, r.ID)
	if err != nil || number == 0 {
		return CreditNote{}, reason.NoSuchRecord.Refusal("This gateway has no such credit note: numbers have the form CN-000042.")
	}
	list, err := o.Store.Refunds(ctx, store.RefundFilter{Service: s.ID, Number: number, Limit: 1})
	if err != nil {
		return CreditNote{}, err
	}
	if len(list) == 0 {
		return CreditNote{}, store.ErrNotFound
	}
	out := CreditNote{Refund: showRefund(list[0]), Service: s.ID, Issuer: s.Issuer}
	if text := list[0].Document; text != "" {
		var kept creditNoteRecord
		if err := json.Unmarshal([]byte(text), &kept); err != nil {
			return CreditNote{}, fmt.Errorf("reading credit note %s: %w", out.Number, err)
		}
		out.Parties, out.AgentName, out.Tax = kept.Parties, kept.AgentName, kept.tax(kept.taxation, list[0].Amount)
	}
	invoice, err := o.Store.Invoice(ctx, s.ID, out.AgentID, out.ChargedAt.Format("2006-01"))
	switch {
	case err == nil:
		out.Invoice = invoiceText(invoice.Number)
	case !errors.Is(err, store.ErrNotFound):
		return CreditNote{}, err
	}
	return out, nil
}
