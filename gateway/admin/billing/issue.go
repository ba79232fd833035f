package billing

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// The states of an invoice.
const (
	InvoiceDraft  = "draft"
	InvoiceIssued = "issued"
)

// An IssueRequest issues the invoice of an agent for a month.
type IssueRequest struct {
	api.Record `json:"-"` // of the agent
	Month      string     `json:"month"` // such as 2026-11
}

// Details returns the details of the change for the audit stream.
func (r IssueRequest) Details() map[string]string { return map[string]string{"month": r.Month} }

// IssueInvoice issues the invoice of an agent for a month that ended at least an hour ago, under the next number of the service, and keeps
// it. An invoice that was issued before is returned unchanged. Errors: those of Invoice, and a refusal if the invoice is still provisional,
// nothing was charged, or the seller or the buyer is missing.
func (o *Operations) IssueInvoice(ctx context.Context, s *service.Service, r IssueRequest) (Invoice, error) {
	draft, err := o.Invoice(ctx, s, InvoiceQuery(r))
	switch {
	case err != nil || draft.Status == InvoiceIssued:
		return draft, err
	case draft.Provisional:
		return Invoice{}, reason.MalformedRequest.Refusal("The month has not ended, or ended less than an hour ago: more charges may follow.").
			With("pointer", "/month").With("suggestion", "Issue the invoice an hour or more after the end of the month (UTC).")
	case len(draft.Rows) == 0:
		return Invoice{}, reason.MalformedRequest.Refusal("Nothing was charged in this month, so an invoice would be empty.").
			With("suggestion", "Check the agent id and the month: uimgate usage statements lists what each agent was charged.")
	case draft.Seller == nil:
		return Invoice{}, reason.MalformedRequest.Refusal("The configuration does not name the seller.").
			With("suggestion", "Set services[].invoices.seller.name in the configuration, and reload.")
	case draft.Buyer == nil:
		return Invoice{}, noBuyer()
	}
	draft.Number = ""
	text, err := json.Marshal(draft)
	if err != nil {
		return Invoice{}, fmt.Errorf("encoding an invoice: %w", err)
	}
	issued, _, err := o.Store.IssueInvoice(ctx, store.Invoice{
		Service: draft.Service, AgentID: draft.AgentID, Month: r.Month, Document: text,
	})
	if err != nil {
		return Invoice{}, err
	}
	return showInvoice(issued)
}

// invoicePrefix begins the number of an issued invoice.
const invoicePrefix = "INV-"

// invoiceText returns the number of an issued invoice as documents show it.
func invoiceText(n int64) string { return fmt.Sprintf(invoicePrefix+"%06d", n) }

func showInvoice(i store.Invoice) (out Invoice, err error) {
	if err := json.Unmarshal(i.Document, &out); err != nil {
		return Invoice{}, fmt.Errorf("reading invoice %s: %w", invoiceText(i.Number), err)
	}
	at := i.At.UTC()
	out.Number, out.Status, out.IssuedAt = invoiceText(i.Number), InvoiceIssued, &at
	return out, nil
}

// An IssuedInvoice is an invoice in a listing.
type IssuedInvoice struct {
	Number   string      `json:"number"`
	Month    string      `json:"month"`
	AgentID  pat.AgentID `json:"agent_id"`
	Buyer    string      `json:"buyer"` // name
	Currency string      `json:"currency"`
	Amount   string      `json:"amount"` // what was charged, exactly
	Payable  string      `json:"payable,omitempty"`
	IssuedAt time.Time   `json:"issued_at"`
}

// An IssuedQuery selects issued invoices.
type IssuedQuery struct {
	Service string `query:"service"`
	api.PageRequest
	AgentID pat.AgentID `query:"agent_id"` // empty: all
	Month   string      `query:"month"`    // empty: all
}

// IssuedInvoices lists issued invoices, newest first, with an item for each currency of an invoice.
func (o *Operations) IssuedInvoices(ctx context.Context, s *service.Service, q IssuedQuery) (_ api.Page[IssuedInvoice], err error) {
	f := store.InvoiceFilter{Service: s.ID, AgentID: q.AgentID, Month: q.Month, Limit: q.Max()}
	if f.Before, err = documentNumber(invoicePrefix, q.After); err != nil {
		return api.Page[IssuedInvoice]{}, err
	}
	list, err := o.Store.Invoices(ctx, f)
	if err != nil {
		return api.Page[IssuedInvoice]{}, err
	}
	page := api.Page[IssuedInvoice]{Items: []IssuedInvoice{}}
	for _, i := range list {
		full, err := showInvoice(i)
		if err != nil {
			return api.Page[IssuedInvoice]{}, err
		}
		page.Items = append(page.Items, full.listed(i.Month)...)
	}
	if n := len(list); n == q.Max() {
		page.Next = invoiceText(list[n-1].Number)
	}
	return page, nil
}

// listed returns the items of an issued invoice in a listing.
func (i *Invoice) listed(month string) (items []IssuedInvoice) {
	for _, t := range i.Totals {
		item := IssuedInvoice{
			Number: i.Number, Month: month, AgentID: i.AgentID, Buyer: i.Buyer.Name, Currency: t.Currency, Amount: t.Amount, IssuedAt: *i.IssuedAt,
		}
		if t.Tax != nil {
			item.Payable = t.Tax.Payable
		}
		items = append(items, item)
	}
	return items
}

// documentNumber parses the number of a document, or returns 0 if text is empty.
func documentNumber(prefix, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	digits, found := strings.CutPrefix(text, prefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	if !found || err != nil || n <= 0 {
		return 0, api.WrongParameter("after", "must be a number such as "+prefix+"000042")
	}
	return n, nil
}
