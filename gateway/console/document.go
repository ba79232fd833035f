package console

import (
	"bytes"
	"io"

	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/invoice"
	"github.com/uimgate/uimgate/gateway/admin/operation"
)

// invoiceDocument shows the invoice of an agent for a month as a page to print: as it was issued, or a draft.
func (r *request) invoiceDocument() error {
	i, err := read(r, operation.Invoice, billing.InvoiceQuery{
		Record: r.record(r.PathValue("id")), Month: r.URL.Query().Get("month"),
	})
	if err != nil {
		return err
	}
	return r.document(func(w io.Writer) error { return invoice.WriteHTML(w, i) })
}

// creditNoteDocument shows a credit note as a page to print.
func (r *request) creditNoteDocument() error {
	n, err := read(r, operation.CreditNote, r.record(r.PathValue("id")))
	if err != nil {
		return err
	}
	return r.document(func(w io.Writer) error { return invoice.WriteCreditNote(w, n) })
}

// document sends a page to print, whose styles are inline.
func (r *request) document(write func(io.Writer) error) error {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return err
	}
	h := r.w.Header()
	h.Set(
		"Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
	)
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = r.w.Write(visible(out.Bytes())) // the browser has disconnected
	return nil
}
