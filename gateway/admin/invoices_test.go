package admin_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

func TestInvoiceOfCapturedCharges(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	g.Agreed("agent-2")
	month := g.Now().UTC().Format("2006-01")
	g.Execute(a, gatetest.Ordering)
	g.Execute(a, gatetest.Ordering)
	g.BreakOff()
	g.Execute(a, gatetest.Ordering)
	open := items[calls.Execution](g, "/usage/executions?state=unresolved")
	of := func(query string) billing.Invoice {
		return ask[billing.Invoice](g, "GET", "/agents/agent-1/invoice"+query, nil)
	}
	got := of("?month=" + month)
	agreement := items[agreements.Agreement](g, "/agreements?agent_id=agent-1")[0]
	from, err := time.Parse("2006-01", month)
	g.Must(err)
	want := billing.Invoice{
		Number: got.Number, Status: billing.InvoiceDraft, Service: got.Service, Issuer: "shop.example", AgentID: "agent-1",
		From: from, To: from.AddDate(0, 1, 0), Provisional: true,
		Rows: []billing.InvoiceRow{{
			Intent: gatetest.Ordering, Rule: open[0].Rule, Calls: 2, UnitPrice: "0.25", Amount: "0.50", Currency: "EUR",
		}},
		Totals: []billing.InvoiceTotal{{Currency: "EUR", Calls: 2, Amount: "0.50", Held: "0.25", Unresolved: "0.25"}},
		Evidence: []billing.InvoiceEvidence{{
			AgreementID: agreement.ID, SignatureDigest: signatureDigest(g, agreement), PolicyDigest: agreement.PolicyDigest, Calls: 2,
		}},
	}
	if !gocmp.Equal(got, want) || len(got.Number) != len("2026-11-0123456789ab") {
		t.Error(got.Number, gocmp.Diff(want, got))
	}
	if other := ask[billing.Invoice](g, "GET", "/agents/agent-2/invoice?month="+month, nil); other.Number == got.Number ||
		len(other.Rows) != 0 {
		t.Errorf("got %+v", other)
	}
	for _, query := range []string{"", "?month=2026", "?month=2026-13", "?month=1969-12", "?month=2200-01"} {
		g.Refuses(g.do("GET", "/agents/agent-1/invoice"+query, nil), http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	g.Refuses(g.do("GET", "/agents/nobody/invoice?month="+month, nil), http.StatusNotFound, "NO_SUCH_RECORD")

	g.Later(want.To.Sub(g.Now()) + time.Hour) // a capture belongs to its own month
	ask[calls.Execution](g, "POST", "/usage/executions/"+open[0].ID+"/resolve", map[string]any{"state": "captured"})
	want.Provisional = false
	if again := of("?month=" + month); !gocmp.Equal(again, want) {
		t.Error(gocmp.Diff(want, again))
	}
	next := of("?month=" + want.To.Format("2006-01"))
	if next.Number == got.Number || !next.Provisional || len(next.Rows) != 1 || next.Rows[0].Calls != 1 ||
		next.Totals[0] != (billing.InvoiceTotal{Currency: "EUR", Calls: 1, Amount: "0.25", Held: "0.00", Unresolved: "0.00"}) {
		t.Errorf("got %+v", next)
	}
	g.Later(401 * 24 * time.Hour)
	_, err = g.Store.Purge(t.Context())
	g.Must(err)
	g.Refuses(g.do("GET", "/agents/agent-1/invoice?month="+month, nil), http.StatusUnprocessableEntity, "PERIOD_FORGOTTEN")
}

// signatureDigest computes the digest from the export alone, as the recipient of an invoice would.
func signatureDigest(g *adminGate, a agreements.Agreement) string {
	g.Helper()
	var export struct {
		Agreement struct{ Signature []byte }
	}
	g.Must(json.Unmarshal(g.do("GET", "/agreements/"+string(a.ID)+"/export", nil).Body, &export))
	sum := sha256.Sum256(export.Agreement.Signature)
	return "sha-256:" + base64.RawURLEncoding.EncodeToString(sum[:])
}

func TestTotalsByCurrency(t *testing.T) {
	charges := func(calls int64, amount string) billing.Charges { return billing.Charges{Calls: calls, Amount: amount} }
	none := charges(0, "0.00")
	statement := func(currency, captured, balance string) billing.Statement {
		return billing.Statement{
			Currency: currency, ToppedUp: "10.00", Reversed: "0.00",
			Lines: []billing.StatementLine{
				{Held: charges(2, captured), Captured: charges(1, captured), Released: none, Unresolved: none},
				{Held: none, Captured: none, Released: charges(1, "0.000000001"), Unresolved: none},
			},
			Closing: billing.Position{ToppedUp: "10.00", Held: "0.00", Unresolved: "0.00", Captured: captured, Balance: balance},
		}
	}
	got := billing.Totals([]billing.Statement{
		statement("USD", "1.50", "-8.50"), statement("EUR", "9000000000.125", "0.10"), statement("EUR", "9000000000.125", "-0.30"),
	})
	if len(got) != 2 || got[0].Currency != "EUR" || got[0].Accounts != 2 || got[0].ToppedUp != "20.00" ||
		got[0].Held != charges(4, got[0].Captured.Amount) || got[0].Captured.Amount != "18000000000.250000000" ||
		got[0].Released != charges(2, "0.000000002") || got[0].Closing.Balance != "-0.20" ||
		got[1].Captured != charges(1, "1.50") || got[1].Closing.Balance != "-8.50" {
		t.Errorf("got %+v", got)
	}
}

// The names appear in listings and invoices. Names that could alter the surrounding text are refused.
func TestAgentNames(t *testing.T) {
	g := newAdminGate(t, "")
	g.Agreed("agent-1")
	name := func(text string) gatetest.Answer {
		return g.do("POST", "/agents/agent-1/name", map[string]any{"name": text})
	}
	for _, bad := range []string{
		"a\nb", "a\x1b[31m", "evil\u202egpj", "\u2066x", "a\u200bb", "a\u2028b", " a", "a ", "\ufffd", strings.Repeat("ä", 201),
	} {
		if a := name(bad); a.Status != http.StatusBadRequest || strings.Contains(string(a.Body), "evil") {
			t.Errorf("%q: %d %s", bad, a.Status, a.Body)
		}
	}
	const corner = "Corner Shop ООО «Ромашка»"
	if got := decode[agreements.Agent](g, name(corner)); got.Name != corner {
		t.Errorf("got %+v, want Name %v", got, corner)
	}
	if got := items[agreements.Agent](g, "/agents"); got[0].Name != corner {
		t.Errorf("got %+v, want [0].Name %v", got, corner)
	}
	if got := items[agreements.Agreement](g, "/agreements"); got[0].AgentName != corner {
		t.Errorf("got %+v, want [0].AgentName %v", got, corner)
	}
	month := g.Now().UTC().Format("2006-01")
	if got := ask[billing.Invoice](g, "GET", "/agents/agent-1/invoice?month="+month, nil); got.Name != corner {
		t.Errorf("got %+v, want Name %v", got, corner)
	}
	if got := decode[agreements.Agent](g, name("")); got.Name != "" {
		t.Errorf("got %+v, want Name empty", got)
	}
	if a := g.do("POST", "/agents/nobody/name", map[string]any{"name": "x"}); a.Status != http.StatusNotFound {
		t.Errorf("got %d %s; want %v", a.Status, a.Body, http.StatusNotFound)
	}
}
