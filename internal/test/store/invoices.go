package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func testInvoices(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"an invoice is issued once":              issueOnce,
		"an invoice is issued once, by many":     issueAtOnce,
		"invoices are kept for ten years":        keepInvoices,
		"an agent has at most one buyer":         nameBuyers,
		"credit notes have separate numbers":     countApart,
		"invoices are listed, the newest first":  listInvoices,
		"a refund keeps its record for the note": keepRecordOfRefund,
	})
}

func (b *suite) issueInvoice(id pat.AgentID, month, document string) (store.Invoice, bool) {
	b.Helper()
	i, repeated, err := b.IssueInvoice(b.Context(), store.Invoice{Service: service, AgentID: id, Month: month, Document: []byte(document)})
	b.must(err)
	return i, repeated
}

func issueOnce(b *suite) {
	if _, err := b.Invoice(b.Context(), service, "a", "2026-11"); !errors.Is(err, store.ErrNotFound) {
		b.Errorf("got %v, want %v", err, store.ErrNotFound)
	}
	first, repeated := b.issueInvoice("a", "2026-11", `{"n":1}`)
	if repeated || first.Number != 1 || first.At.IsZero() || string(first.Document) != `{"n":1}` {
		b.Errorf("got %+v, %v", first, repeated)
	}
	b.reopen()
	b.clock.Advance(time.Hour)
	again, repeated := b.issueInvoice("a", "2026-11", `{"n":2}`)
	if !repeated {
		b.Error("the invoice was issued twice")
	}
	b.equal(again, first)
	next, _ := b.issueInvoice("a", "2026-12", "{}")
	other, _ := b.issueInvoice("b", "2026-11", "{}")
	if next.Number != 2 || other.Number != 3 {
		b.Errorf("got %d and %d, want 2 and 3: the repeated invoice used up a number", next.Number, other.Number)
	}
}

func issueAtOnce(b *suite) {
	other := b.open(b.T, b.place, b.clock.Now)
	defer func() { b.must(other.Close()) }()
	var issued atomic.Int64
	var all sync.WaitGroup
	for n := range 24 {
		engine := []Engine{b.Engine, other}[n%2]
		all.Go(func() {
			i, repeated, err := engine.IssueInvoice(b.Context(), store.Invoice{
				Service: service, AgentID: pat.AgentID(fmt.Sprint(n % 3)), Month: "2026-11", Document: []byte("{}"),
			})
			if err != nil || i.Number < 1 || i.Number > 3 {
				b.Errorf("got %+v, %v", i, err)
			}
			if !repeated {
				issued.Add(1)
			}
		})
	}
	all.Wait()
	if issued.Load() != 3 {
		b.Errorf("%d invoices were issued, want 3", issued.Load())
	}
}

func keepInvoices(b *suite) {
	b.issueInvoice("a", "2026-11", "{}")
	b.clock.Advance(9 * 365 * 24 * time.Hour)
	b.issueInvoice("a", "2035-11", "{}")
	b.clock.Advance(366 * 24 * time.Hour)
	_, err := b.Purge(b.Context())
	b.must(err)
	list, err := b.Invoices(b.Context(), store.InvoiceFilter{Service: service})
	b.must(err)
	if len(list) != 1 || list[0].Number != 2 {
		b.Errorf("got %+v", list)
	}
}

func nameBuyers(b *suite) {
	b.claim(service, "a")
	b.claim(service, "b")
	b.claim("other", "a")
	want := store.Buyer{Name: "Müller & 株式会社", Address: []string{"Straße 1", "1010 Wien"}, Country: "AT", TaxID: "ATU1", VAT: store.TaxReverseCharge}
	b.must(b.SetBuyer(b.Context(), service, "a", &want))
	b.reopen()
	got, err := b.Buyer(b.Context(), service, "a")
	b.must(err)
	b.equal(got, &want)
	for _, of := range [][2]string{{service, "b"}, {"other", "a"}} {
		if got, err := b.Buyer(b.Context(), of[0], pat.AgentID(of[1])); got != nil || err != nil {
			b.Errorf("%v: got %+v, %v", of, got, err)
		}
	}
	for _, err := range []error{
		b.SetBuyer(b.Context(), service, "nobody", &want), b.SetBuyer(b.Context(), service, "nobody", nil),
		func() error { _, err := b.Buyer(b.Context(), service, "nobody"); return err }(),
	} {
		if !errors.Is(err, pat.ErrNotFound) {
			b.Errorf("an unknown agent: %v, want %v", err, pat.ErrNotFound)
		}
	}
	b.must(b.SetBuyer(b.Context(), service, "a", nil))
	if got, err := b.Buyer(b.Context(), service, "a"); got != nil || err != nil {
		b.Errorf("got %+v, %v", got, err)
	}
}

func countApart(b *suite) {
	b.issueInvoice("a", "2026-11", "{}")
	made := b.refund(store.Refund{ExecutionID: b.captured(10)})
	next, _ := b.issueInvoice("a", "2026-12", "{}")
	if made.Number != 1 || next.Number != 2 {
		b.Errorf("credit note %d, invoice %d; want 1 and 2", made.Number, next.Number)
	}
}

func listInvoices(b *suite) {
	for _, month := range []string{"2026-10", "2026-11", "2026-12"} {
		b.issueInvoice("a", month, "{}")
		b.issueInvoice("b", month, "{}")
	}
	for _, c := range []struct {
		filter store.InvoiceFilter
		want   []int64
	}{
		{store.InvoiceFilter{Service: service}, []int64{6, 5, 4, 3, 2, 1}},
		{store.InvoiceFilter{Service: service, AgentID: "b"}, []int64{6, 4, 2}},
		{store.InvoiceFilter{Service: service, Month: "2026-11"}, []int64{4, 3}},
		{store.InvoiceFilter{Service: service, Before: 4, Limit: 2}, []int64{3, 2}},
		{store.InvoiceFilter{Service: "other"}, []int64{}},
	} {
		list, err := b.Invoices(b.Context(), c.filter)
		b.must(err)
		got := []int64{}
		for _, i := range list {
			got = append(got, i.Number)
		}
		b.equal(got, c.want)
	}
}

func keepRecordOfRefund(b *suite) {
	id := b.captured(10)
	ask := store.Refund{ExecutionID: id, Amount: usd(4), Name: "a", Document: `{"vat":19}`}
	b.refund(ask)
	ask.Document = "{}"
	b.refund(ask) // the same refund
	list, err := b.Refunds(b.Context(), store.RefundFilter{Service: service, Number: 1})
	b.must(err)
	if len(list) != 1 || list[0].Document != `{"vat":19}` {
		b.Errorf("got %+v", list)
	}
	if list, err := b.Refunds(b.Context(), store.RefundFilter{Service: service, Number: 2}); err != nil || len(list) != 0 {
		b.Errorf("got %+v, %v", list, err)
	}
}
