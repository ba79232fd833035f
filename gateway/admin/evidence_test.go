package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
)

// The pages of a month end with the last entry of the signed statement, even if the agent pays in while they are read.
func TestEvidencePagesAreThoseOfTheStatement(t *testing.T) {
	g := newAdminGate(t, "")
	g.Agreed("agent-1")
	topUp := func() {
		ask[billing.TopUpResult](g, "POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "10 EUR"})
	}
	for range 3 {
		topUp()
	}
	path := "/agents/agent-1/evidence?currency=EUR&limit=2&month=" + g.Now().UTC().Format("2006-01")
	page := ask[billing.AccountEvidence](g, "GET", path, nil)
	if page.Statement == "" || page.Invoice == "" || page.Next == "" {
		t.Fatalf("got %+v", page)
	}
	topUp()
	var got []int64
	for first := page.Next; ; {
		for _, e := range page.Entries {
			r, err := evidence.ParseReceipt(e.Receipt)
			g.Must(err)
			got = append(got, r.Entry.K)
		}
		if page.Next == "" {
			break
		}
		page = ask[billing.AccountEvidence](g, "GET", path+"&after="+page.Next, nil)
		if page.Statement != "" {
			t.Errorf("the page after %s has another statement", first)
		}
	}
	if len(got) != 3 || got[2] != 2 {
		t.Errorf("got entries %v; want 0 to 2", got)
	}
	for _, after := range []string{"1", "x", "2-1", "1-x", "-1-2", "1-" + strings.Repeat("9", 30), "1-1"} {
		g.Refuses(g.do("GET", path+"&after="+after, nil), http.StatusBadRequest, "MALFORMED_REQUEST")
	}
}

// An operator who asks for the evidence of altered entries learns what to do.
func TestEvidenceOfAlteredEntriesIsRefused(t *testing.T) {
	g := newAdminGate(t, "")
	g.Agreed("agent-1")
	ask[billing.TopUpResult](g, "POST", "/usage/top-up", map[string]any{"agent_id": "agent-1", "amount": "10 EUR"})
	sqlitetest.Alter(t, g.Data.StatePath(), "UPDATE ledger SET reference = 'x'")
	got := g.do("GET", "/agents/agent-1/evidence?currency=EUR&month="+g.Now().UTC().Format("2006-01"), nil)
	g.Refuses(got, http.StatusInternalServerError, "EVIDENCE_INVALID")
	if !strings.Contains(string(got.Body), "uimgate verify-ledger") {
		t.Errorf("got %s, want the command that finds the row", got.Body)
	}
}
