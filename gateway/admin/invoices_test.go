package admin_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/gatetest"
)

func TestAnInvoiceIsWhatWasCapturedInAMonth(t *testing.T) {
	g := newOperated(t, "")
	a := g.Agreed("agent-1")
	g.Agreed("agent-2")
	month := g.Now().UTC().Format("2006-01")
	g.Execute(a, gatetest.Ordering)
	g.Execute(a, gatetest.Ordering)
	g.BreakOff()
	g.Execute(a, gatetest.Ordering)
	open := items[admin.Execution](g, "/usage/executions?state=unresolved")
	of := func(query string) admin.Invoice {
		return ask[admin.Invoice](g, "GET", "/agents/agent-1/invoice"+query, nil)
	}
	got := of("?month=" + month)
	agreement := items[admin.Agreement](g, "/agreements?agent_id=agent-1")[0]
	from, err := time.Parse("2006-01", month)
	g.Must(err)
	want := admin.Invoice{
		Number: got.Number, Service: got.Service, Issuer: "shop.example", AgentID: "agent-1",
		From: from, To: from.AddDate(0, 1, 0), Provisional: true,
		Rows: []admin.InvoiceRow{{
			Intent: gatetest.Ordering, Rule: open[0].Rule, Calls: 2, UnitPrice: "0.25", Amount: "0.50", Currency: "EUR",
		}},
		Totals: []admin.InvoiceTotal{{Currency: "EUR", Calls: 2, Amount: "0.50", Held: "0.25", Unresolved: "0.25"}},
		Evidence: []admin.InvoiceEvidence{{
			AgreementID: agreement.ID, SignatureDigest: signatureDigest(g, agreement), PolicyDigest: agreement.PolicyDigest, Calls: 2,
		}},
	}
	if !gocmp.Equal(got, want) || len(got.Number) != len("2026-11-0123456789ab") {
		t.Error(got.Number, gocmp.Diff(want, got))
	}
	if other := ask[admin.Invoice](g, "GET", "/agents/agent-2/invoice?month="+month, nil); other.Number == got.Number || len(other.Rows) != 0 {
		t.Errorf("%+v", other)
	}
	for _, query := range []string{"", "?month=2026", "?month=2026-13", "?month=1969-12", "?month=2200-01"} {
		g.Refuses(g.do("GET", "/agents/agent-1/invoice"+query, nil), http.StatusBadRequest, "MALFORMED_REQUEST")
	}
	g.Refuses(g.do("GET", "/agents/nobody/invoice?month="+month, nil), http.StatusNotFound, "NO_SUCH_RECORD")

	g.Later(want.To.Sub(g.Now()) + time.Hour) // what is captured now is charged now
	ask[admin.Execution](g, "POST", "/usage/executions/"+open[0].ID+"/resolve", map[string]any{"state": "captured"})
	want.Provisional = false
	if again := of("?month=" + month); !gocmp.Equal(again, want) {
		t.Error(gocmp.Diff(want, again))
	}
	next := of("?month=" + want.To.Format("2006-01"))
	if next.Number == got.Number || !next.Provisional || len(next.Rows) != 1 || next.Rows[0].Calls != 1 ||
		next.Totals[0] != (admin.InvoiceTotal{Currency: "EUR", Calls: 1, Amount: "0.25", Held: "0.00", Unresolved: "0.00"}) {
		t.Errorf("%+v", next)
	}
	g.Later(401 * 24 * time.Hour)
	_, err = g.Store.Purge(t.Context())
	g.Must(err)
	g.Refuses(g.do("GET", "/agents/agent-1/invoice?month="+month, nil), http.StatusUnprocessableEntity, "PERIOD_FORGOTTEN")
}

// signatureDigest is made from the export alone, as whoever doubts an invoice would.
func signatureDigest(g *operated, a admin.Agreement) string {
	g.Helper()
	var export struct {
		Agreement struct{ Signature []byte }
	}
	g.Must(json.Unmarshal(g.do("GET", "/agreements/"+string(a.ID)+"/export", nil).Body, &export))
	sum := sha256.Sum256(export.Agreement.Signature)
	return "sha-256:" + base64.RawURLEncoding.EncodeToString(sum[:])
}
