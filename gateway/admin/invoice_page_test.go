package admin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/invoice"
	"github.com/uimgate/uimgate/store"
)

func TestInvoicePage(t *testing.T) {
	from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	var b strings.Builder
	err := invoice.WriteHTML(&b, billing.Invoice{
		Number: "2026-12-0123456789ab", Issuer: "shop.example", AgentID: `<script>alert(1)</script>`, Name: "Corner & Co.",
		FurtherAgreements: 7, From: from, To: from.AddDate(0, 1, 0),
		Rows: []billing.InvoiceRow{
			{
				Intent:    "shop.example:order:v1",
				Rule:      "https://shop.example/policy#order",
				Calls:     3,
				UnitPrice: "0.125",
				Amount:    "0.375",
				Currency:  "EUR",
			},
			{Others: 12, Calls: 40, Amount: "5.00", Currency: "EUR"},
		},
		Totals: []billing.InvoiceTotal{
			{Currency: "EUR", Calls: 3, Amount: "0.375", Held: "0.25", Unresolved: "0.125"},
			{Currency: "USD", Calls: 0, Amount: "0.00", Held: "0.00", Unresolved: "0.00"},
		},
		Evidence: []billing.InvoiceEvidence{
			{AgreementID: "agreement-1", SignatureDigest: "sha-256:signature", PolicyDigest: "sha-256:policy", Calls: 3},
		},
	})
	page := b.String()
	for _, part := range []string{
		"2026-12-0123456789ab", "2026-12-01 to 2026-12-31 (UTC)", "&lt;script&gt;", "0.125 EUR", "0.375 EUR", "<dd>Corner &amp; Co.</dd>", "12 more kinds of calls",
		"7 more agreements are not listed", "0.25 EUR was held",
		"agreement-1", "sha-256:signature", "sha-256:policy", "@media print", "default-src &#39;none&#39;",
	} {
		if !strings.Contains(page, part) && !strings.Contains(page, strings.ReplaceAll(part, "&#39;", "'")) {
			t.Errorf("%s is not in the page", part)
		}
	}
	for _, part := range []string{"<script", "http-equiv=\"refresh\"", " src=", "@import", "url(", "Provisional", "USD was held"} {
		if strings.Contains(page, part) {
			t.Errorf("%s is in the page", part)
		}
	}
	if err != nil || !strings.HasSuffix(page, "</html>\n") {
		t.Error(err)
	}
}

func TestIssuedInvoicePage(t *testing.T) {
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	at := from.AddDate(0, 1, 2)
	var b strings.Builder
	err := invoice.WriteHTML(&b, billing.Invoice{
		Number: "INV-000042", Status: billing.InvoiceIssued, IssuedAt: &at, Issuer: "shop.example", AgentID: "agent-1", Name: "internal name",
		From: from, To: from.AddDate(0, 1, 0), Terms: "Payable within 14 days.",
		Parties: billing.Parties{
			Seller: &billing.Seller{
				Name:    "Example Shop GmbH",
				Address: []string{"Marktplatz 1", "10115 Berlin"},
				Country: "DE",
				TaxID:   "DE1",
				Contact: "b@shop.example",
			},
			Buyer: &store.Buyer{
				Name: "Corner & Co. <b>", Address: []string{"1 rue du Port"}, Country: "FR", TaxID: "FR1", Reference: "PO-7", VAT: store.TaxReverseCharge,
			},
		},
		Rows: []billing.InvoiceRow{{Intent: "shop.example:order:v1", Calls: 3, UnitPrice: "0.125", Amount: "0.375", Currency: "EUR"}},
		Totals: []billing.InvoiceTotal{{
			Currency: "EUR", Calls: 3, Amount: "0.375", Held: "0.00", Unresolved: "0.00",
			Tax: &billing.Tax{Rule: store.TaxReverseCharge, Rate: "0", Net: "0.38", Amount: "0.00", Payable: "0.38"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, part := range []string{
		"<h1>Invoice INV-000042</h1>", "2026-12-03", "Example Shop GmbH", "10115 Berlin", "Tax id: DE1", "b@shop.example",
		"Corner &amp; Co. &lt;b&gt;", "1 rue du Port", "Tax id: FR1", "Your reference: PO-7", "Charges in EUR", "0.38 EUR",
		"Reverse charge: the customer accounts", "Payable within 14 days.",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("%s is not in the page", part)
		}
	}
	for _, part := range []string{"Draft", "Provisional", "internal name", "<script", " src="} {
		if strings.Contains(page, part) {
			t.Errorf("%s is in the page", part)
		}
	}
}

func TestCreditNotePage(t *testing.T) {
	var b strings.Builder
	err := invoice.WriteCreditNote(&b, billing.CreditNote{
		Refund: billing.Refund{
			Number: "CN-000001", At: time.Date(2026, 12, 3, 0, 0, 0, 0, time.UTC), AgentID: "agent-1", ExecutionID: "e-1", Intent: "i", Amount: "0.10",
			Charge: "0.25", Currency: "EUR", ChargedAt: time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC), Reason: "<late>",
		},
		Issuer: "shop.example", Invoice: "INV-000042", Parties: billing.Parties{Buyer: &store.Buyer{Name: "Corner & Co."}},
		Tax: &billing.Tax{Rule: store.TaxExempt, Rate: "0", Net: "0.10", Amount: "0.00", Payable: "0.10"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"Credit note CN-000001", "2026-12-03", "2026-11-03", "INV-000042", "&lt;late&gt;", "0.25 EUR", "0.10 EUR", "Exempt", "Corner &amp; Co.", "e-1",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%s is not in the page", part)
		}
	}
}
