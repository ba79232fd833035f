package admin_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

// taxedSettings returns a configuration whose invoices have a seller and tax.
func taxedSettings(prices string) string {
	return `services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: UPSTREAM}
  ` + gatetest.Unproved + `
  invoices:
    seller: {name: Example Shop GmbH, address: [Marktplatz 1, 10115 Berlin], country: DE, tax_id: DE123456789, contact: billing@shop.example}
    vat: 19
    prices: ` + prices + `
    terms: Payable within 14 days.
`
}

var cornerShop = map[string]any{
	"name": "Corner Shop SARL", "address": []string{"1 rue du Port", "13002 Marseille"}, "country": "FR", "tax_id": "FR12345678901",
}

func TestAnIssuedInvoiceNeverChanges(t *testing.T) {
	g := newAdminGate(t, taxedSettings("gross"))
	a := g.Agreed("agent-1")
	for range 3 {
		g.Execute(a, gatetest.Ordering)
	}
	month := g.Now().UTC().Format("2006-01")
	issue := func() billing.Invoice {
		return ask[billing.Invoice](g, "POST", "/agents/agent-1/invoice", map[string]any{"month": month})
	}
	refused := func(want string) {
		t.Helper()
		got := g.do("POST", "/agents/agent-1/invoice", map[string]any{"month": month})
		g.Refuses(got, http.StatusBadRequest, "MALFORMED_REQUEST")
		if !strings.Contains(string(got.Body), want) {
			t.Errorf("got %s, want a text with %q", got.Body, want)
		}
	}
	refused("has not ended")
	begun := time.Date(g.Now().UTC().Year(), g.Now().UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	g.Later(begun.AddDate(0, 1, 0).Add(time.Hour - time.Minute).Sub(g.Now())) // transactions of the month may not have ended
	refused("has not ended")
	g.Later(time.Minute)
	refused("uimgate agents invoice-to")
	ask[billing.Buyer](g, "POST", "/agents/agent-1/buyer", cornerShop)
	draft := ask[billing.Invoice](g, "GET", "/agents/agent-1/invoice?month="+month, nil)
	tax := &billing.Tax{Rule: store.TaxStandard, Rate: "19", Net: "0.63", Amount: "0.12", Payable: "0.75"}
	if draft.Status != billing.InvoiceDraft || !gocmp.Equal(draft.Totals[0].Tax, tax) {
		t.Errorf("got %+v, %+v", draft, draft.Totals[0].Tax)
	}
	issued := issue()
	if issued.Number != "INV-000001" || issued.Status != billing.InvoiceIssued || issued.IssuedAt == nil || issued.Seller.Name != "Example Shop GmbH" ||
		issued.Buyer.Name != "Corner Shop SARL" ||
		issued.Terms != "Payable within 14 days." {
		t.Errorf("got %+v", issued)
	}
	want := issued
	want.Number, want.Status, want.IssuedAt = draft.Number, draft.Status, draft.IssuedAt
	if d := gocmp.Diff(draft, want); d != "" {
		t.Errorf("the issued invoice differs from its draft:\n%s", d)
	}
	g.Must(g.Store.CheckBalance(t.Context())) // which compares the invoice with the ledger

	other := map[string]any{"name": "Another", "address": []string{"x"}, "country": "DE", "vat": "exempt"}
	ask[billing.Buyer](g, "POST", "/agents/agent-1/buyer", other)
	g.Later(401 * 24 * time.Hour)
	_, err := g.Store.Purge(t.Context())
	g.Must(err)
	for name, again := range map[string]billing.Invoice{
		"issued again": issue(), "read again": ask[billing.Invoice](g, "GET", "/agents/agent-1/invoice?month="+month, nil),
	} {
		if d := gocmp.Diff(issued, again); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	list := items[billing.IssuedInvoice](g, "/usage/invoices?limit=1&month="+month)
	if len(list) != 1 || list[0].Number != "INV-000001" || list[0].Amount != "0.75" || list[0].Payable != "0.75" ||
		list[0].Buyer != "Corner Shop SARL" {
		t.Errorf("got %+v", list)
	}
	if list := items[billing.IssuedInvoice](g, "/usage/invoices?after=INV-000001"); len(list) != 0 {
		t.Errorf("got %+v", list)
	}
	g.Refuses(g.do("GET", "/usage/invoices?after=1", nil), http.StatusBadRequest, "MALFORMED_REQUEST")
}

func TestWithoutChargesOrSellerNoInvoiceIsIssued(t *testing.T) {
	g := newAdminGate(t, "")
	g.Agreed("agent-1")
	ask[billing.Buyer](g, "POST", "/agents/agent-1/buyer", cornerShop)
	month := g.Now().UTC().Format("2006-01")
	g.Later(32 * 24 * time.Hour)
	refused := func(month, want string) {
		t.Helper()
		got := g.do("POST", "/agents/agent-1/invoice", map[string]any{"month": month})
		if got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), want) {
			t.Errorf("got %d %s, want a text with %q", got.Status, got.Body, want)
		}
	}
	refused(month, "Nothing was charged")
	next := g.Now().UTC().Format("2006-01")
	if got := g.Execute(g.Agreed("agent-2"), gatetest.Ordering); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	g.Later(32 * 24 * time.Hour)
	got := g.do("POST", "/agents/agent-2/invoice", map[string]any{"month": next})
	if got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "invoices.seller.name") {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	refused("2026-13", "must be a month")
	refused("", "month")
}

// The tax of the charges 3 × 0.25 EUR, by the party that pays it and by the kind of prices.
func TestTaxOfInvoices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prices, rule string
		want         *billing.Tax
	}{
		{"gross", "", &billing.Tax{Rule: "standard", Rate: "19", Net: "0.63", Amount: "0.12", Payable: "0.75"}},
		{"net", "standard", &billing.Tax{Rule: "standard", Rate: "19", Net: "0.75", Amount: "0.14", Payable: "0.89"}},
		{"gross", "reverse-charge", &billing.Tax{Rule: "reverse-charge", Rate: "0", Net: "0.75", Amount: "0.00", Payable: "0.75"}},
		{"net", "exempt", &billing.Tax{Rule: "exempt", Rate: "0", Net: "0.75", Amount: "0.00", Payable: "0.75"}},
	} {
		t.Run(c.prices+" "+c.rule, func(t *testing.T) {
			t.Parallel()
			g := newAdminGate(t, taxedSettings(c.prices))
			a := g.Agreed("agent-1")
			for range 3 {
				g.Execute(a, gatetest.Ordering)
			}
			buyer := map[string]any{"vat": c.rule}
			maps.Copy(buyer, cornerShop)
			ask[billing.Buyer](g, "POST", "/agents/agent-1/buyer", buyer)
			got := ask[billing.Invoice](g, "GET", "/agents/agent-1/invoice?month="+g.Now().UTC().Format("2006-01"), nil)
			if d := gocmp.Diff(c.want, got.Totals[0].Tax); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCreditNote(t *testing.T) {
	g := newAdminGate(t, taxedSettings("gross"))
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering)
	month := g.Now().UTC().Format("2006-01")
	ask[billing.Buyer](g, "POST", "/agents/agent-1/buyer", cornerShop)
	call := items[calls.Execution](g, "/usage/executions")[0]
	ask[billing.Refund](g, "POST", "/usage/executions/"+call.ID+"/refund", map[string]any{"reason": "late"})
	g.Must(g.Store.CheckBalance(t.Context()))
	ask[billing.Buyer](g, "POST", "/agents/agent-1/buyer", map[string]any{}) // removes it
	note := func() billing.CreditNote { return ask[billing.CreditNote](g, "GET", "/usage/refunds/CN-000001", nil) }
	first := note()
	tax := &billing.Tax{Rule: store.TaxStandard, Rate: "19", Net: "0.21", Amount: "0.04", Payable: "0.25"}
	if first.Number != "CN-000001" || first.Buyer == nil || first.Buyer.Name != "Corner Shop SARL" || first.Seller.TaxID != "DE123456789" ||
		first.ExecutionID != call.ID || first.Reason != "late" || first.Invoice != "" || !gocmp.Equal(first.Tax, tax) {
		t.Errorf("got %+v, tax %+v", first, first.Tax)
	}
	g.Later(32 * 24 * time.Hour)
	ask[billing.Buyer](g, "POST", "/agents/agent-1/buyer", cornerShop)
	invoice := ask[billing.Invoice](g, "POST", "/agents/agent-1/invoice", map[string]any{"month": month})
	if got := note(); got.Invoice != invoice.Number {
		t.Errorf("got invoice %q, want %s", got.Invoice, invoice.Number)
	}
	for _, number := range []string{"CN-000002", "CN-0", "1", "INV-000001"} {
		g.Refuses(g.do("GET", "/usage/refunds/"+number, nil), http.StatusNotFound, "NO_SUCH_RECORD")
	}
}

func TestUnclearBuyersAreRefused(t *testing.T) {
	g := newAdminGate(t, "")
	g.Agreed("agent-1")
	for name, change := range map[string]map[string]any{
		"no name":                     {"name": ""},
		"a name of two lines":         {"name": "a\nb"},
		"a long name":                 {"name": strings.Repeat("x", 201)},
		"no address":                  {"address": []string{}},
		"an address of seven lines":   {"address": []string{"1", "2", "3", "4", "5", "6", "7"}},
		"an empty line":               {"address": []string{"a", ""}},
		"text that changes direction": {"address": []string{"a\u202eb"}},
		"an address as text":          {"address": "a"},
		"a long country":              {"country": "FRA"},
		"a country in lowercase":      {"country": "fr"},
		"an unknown tax":              {"vat": "none"},
		"reverse charge without id":   {"vat": "reverse-charge", "tax_id": ""},
		"a long id":                   {"tax_id": strings.Repeat("x", 41)},
		"an unknown member":           {"phone": "1"},
	} {
		buyer := map[string]any{}
		maps.Copy(buyer, cornerShop)
		maps.Copy(buyer, change)
		if got := g.do("POST", "/agents/agent-1/buyer", buyer); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	g.Refuses(g.do("POST", "/agents/nobody/buyer", cornerShop), http.StatusNotFound, "NO_SUCH_RECORD")
	g.Refuses(g.do("GET", "/agents/nobody/buyer", nil), http.StatusNotFound, "NO_SUCH_RECORD")
	if got := ask[billing.Buyer](g, "GET", "/agents/agent-1/buyer", nil); got.Name != "" {
		t.Errorf("got %+v", got)
	}
}
