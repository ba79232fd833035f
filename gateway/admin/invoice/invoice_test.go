package invoice_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/invoice"
)

func TestInvoicePage(t *testing.T) {
	from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	var b strings.Builder
	err := invoice.WriteHTML(&b, admin.Invoice{
		Number: "2026-12-0123456789ab", Issuer: "shop.example", AgentID: `<script>alert(1)</script>`, Name: "Corner & Co.",
		FurtherAgreements: 7, From: from, To: from.AddDate(0, 1, 0),
		Rows: []admin.InvoiceRow{
			{Intent: "shop.example:order:v1", Rule: "https://shop.example/policy#order", Calls: 3, UnitPrice: "0.125", Amount: "0.375", Currency: "EUR"},
			{Others: 12, Calls: 40, Amount: "5.00", Currency: "EUR"},
		},
		Totals: []admin.InvoiceTotal{
			{Currency: "EUR", Calls: 3, Amount: "0.375", Held: "0.25", Unresolved: "0.125"},
			{Currency: "USD", Calls: 0, Amount: "0.00", Held: "0.00", Unresolved: "0.00"},
		},
		Evidence: []admin.InvoiceEvidence{{AgreementID: "agreement-1", SignatureDigest: "sha-256:signature", PolicyDigest: "sha-256:policy", Calls: 3}},
	})
	page := b.String()
	for _, part := range []string{
		"2026-12-0123456789ab", "2026-12-01 to 2026-12-31 (UTC)", "&lt;script&gt;", "0.125 EUR", "0.375 EUR", "Corner &amp; Co.<br>", "12 more kinds of calls",
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
