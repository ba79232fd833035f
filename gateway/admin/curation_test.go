package admin_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/catalogue"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/internal/problem"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

const curationText = `selection: {new: none}
operations:
  order: {hidden: false, uid: shop.example:order:v1, price: 0.25 EUR} # POST /orders, writes
  search: {hidden: false, uid: shop.example:search:v1} # GET /search, reads
  stock: {hidden: true, uid: shop.example:stock:v1} # GET /stock, reads
`

// newCuratedGate returns a gateway with a curation, whose reloads reload it.
func newCuratedGate(t *testing.T) *adminGate {
	t.Helper()
	g := newAdminGate(t, "")
	g.Write("openapi.curation.yaml", curationText)
	g.settings.Reload, g.settings.Audit = g.reloads(), g.Audit
	g.settings.AuditPath = g.AuditPath()
	g.operator = admin.New(g.settings)
	g.listener.Config.Handler = g.handler(g.operator, adminToken)
	return g
}

func (g *adminGate) text(name string) string {
	g.Helper()
	text, err := os.ReadFile(g.Path(name))
	g.Must(err)
	return string(text)
}

func TestCurationHasDecisions(t *testing.T) {
	g := newCuratedGate(t)
	got := ask[policies.Curation](g, "GET", "/curation", nil)
	if got.Text != curationText || !got.Writable || len(got.Items) != 3 {
		t.Fatalf("got %+v", got)
	}
	if order := got.Items[0]; order.Key != "order" || order.State != policies.CurationOffered || !order.Offered || order.Safe ||
		order.Price != "0.25 EUR" {
		t.Errorf("got %+v", order)
	}
	if stock := got.Items[2]; stock.State != policies.CurationHidden || stock.Offered {
		t.Errorf("got %+v", stock)
	}
	if list := ask[policies.Curation](g, "GET", "/curation?search=SEARCH&limit=1", nil); len(list.Items) != 1 ||
		list.Items[0].Key != "search" {
		t.Errorf("got %+v", list.Items)
	}
	first := ask[policies.Curation](g, "GET", "/curation?limit=2", nil)
	rest := ask[policies.Curation](g, "GET", "/curation?limit=2&after="+first.Next, nil)
	if len(rest.Items) != 1 || rest.Items[0].Key != "stock" {
		t.Errorf("the second page: %+v", rest.Items)
	}
	g.Write("openapi.curation.yaml", "operations: [")
	g.Refuses(g.do("GET", "/curation", nil), http.StatusUnprocessableEntity, "CONFIG_REFUSED")
	none := newAdminGate(t, "")
	none.Refuses(none.do("GET", "/curation", nil), http.StatusNotFound, "NO_SUCH_RECORD")
}

func TestImpactOfACuration(t *testing.T) {
	g := newCuratedGate(t)
	g.Execute(g.Agreed("agent-1"), gatetest.Ordering)
	g.Must(g.Audit.Flush())
	edited := strings.NewReplacer("0.25 EUR", "0.75 EUR", "order:v1, price", "order:v1, description: Orders tea., price",
		"stock: {hidden: true", "stock: {hidden: false").Replace(curationText)
	got := ask[policies.CurationImpact](g, "POST", "/curation/impact", map[string]any{"text": edited})
	if len(got.Diff) != 4 || len(got.Changes) != 2 || len(got.Waiting) != 1 || got.Policy == nil {
		t.Fatalf("got %+v", got)
	}
	if p := got.Policy; p.Repriced.Calls != 1 || len(p.Agents) != 1 || len(p.Intents) != 1 || p.Money[0].Difference != "0.50" {
		t.Errorf("the policy: %+v", p)
	}
	same := ask[policies.CurationImpact](g, "POST", "/curation/impact", map[string]any{"text": curationText})
	if len(same.Diff) != 0 || same.Policy != nil {
		t.Errorf("the same text: %+v", same)
	}
	g.Refuses(g.do("POST", "/curation/impact", map[string]any{"text": "operations: {order: {price: much}}"}),
		http.StatusUnprocessableEntity, "CONFIG_REFUSED")
	if g.text("openapi.curation.yaml") != curationText || g.text("policy.json") != gatetest.PolicyFile {
		t.Error("a question has changed a file")
	}
}

func TestSaveACuration(t *testing.T) {
	g := newCuratedGate(t)
	sum := ask[policies.Curation](g, "GET", "/curation", nil).SHA256
	edited := strings.NewReplacer("0.25 EUR", "0.75 EUR", "search: {hidden: false", "search: {hidden: true").Replace(curationText)
	edit := map[string]any{"text": edited, "sha256": sum}

	g.problems = config.Problems{{File: "uimgate.yaml", Line: 7, Message: "too wide", Level: problem.Error}}
	g.Refuses(g.do("POST", "/curation", edit), http.StatusUnprocessableEntity, "CONFIG_REFUSED")
	if g.text("openapi.curation.yaml") != curationText || g.text("policy.json") != gatetest.PolicyFile ||
		g.text("agents.json") != gatetest.AgentsFile {
		t.Error("a reload that was refused has changed a file")
	}
	g.problems = nil
	saved := ask[policies.CurationResult](g, "POST", "/curation", edit)
	if len(saved.Files) != 3 || len(saved.Changes) != 2 || len(saved.Waiting) != 0 {
		t.Errorf("got %+v", saved)
	}
	if g.text("openapi.curation.yaml") != edited || g.text("openapi.curation.yaml.1") != curationText ||
		g.text("policy.json.1") != gatetest.PolicyFile || g.text("agents.json.1") != gatetest.AgentsFile {
		t.Error("the files, or the previous texts, are missing")
	}
	list := items[catalogue.CatalogueItem](g, "/catalogue")
	if list[0].State != catalogue.IntentRetired || !strings.Contains(list[1].Terms, "0.75 EUR") {
		t.Errorf("the gateway serves %+v", list)
	}
	g.Refuses(g.do("POST", "/curation", edit), http.StatusConflict, "POLICY_NOT_SAVED")
	back := map[string]any{"text": curationText, "sha256": ask[policies.Curation](g, "GET", "/curation", nil).SHA256}
	ask[policies.CurationResult](g, "POST", "/curation", back)
	list = items[catalogue.CatalogueItem](g, "/catalogue")
	if list[0].State != catalogue.IntentOffered || !strings.Contains(list[1].Terms, "0.25 EUR") {
		t.Errorf("after the way back, the gateway serves %+v", list)
	}
	g.Refuses(g.do("POST", "/curation", map[string]any{"text": curationText}), http.StatusBadRequest, "MALFORMED_REQUEST")
	g.Must(os.Rename(g.Path("openapi.curation.yaml"), g.Path("mounted.yaml")))
	g.Must(os.Symlink("mounted.yaml", g.Path("openapi.curation.yaml")))
	is := ask[policies.Curation](g, "GET", "/curation", nil)
	if is.Writable {
		t.Error("a link counts as writable")
	}
	g.Refuses(g.do("POST", "/curation", map[string]any{"text": curationText, "sha256": is.SHA256}), http.StatusConflict, "POLICY_NOT_SAVED")
}
