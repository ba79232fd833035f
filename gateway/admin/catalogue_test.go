package admin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/catalogue"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

func TestCatalogueHasTermsStateAndUse(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering)
	g.Call("/api/intents/execute", a.Token, map[string]any{"intent_uid": gatetest.Ordering, "parameters": map[string]any{}}) // refused
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	g.Execute(a, gatetest.Ordering)
	ask[processes.Stop](g, "POST", "/stops", map[string]any{"kind": "intent", "subject": gatetest.Searching, "reason": "it leaks"})
	list := items[catalogue.CatalogueItem](g, "/catalogue")
	if len(list) != 2 {
		t.Fatalf("got %+v", list)
	}
	search, order := list[0], list[1]
	if search.State != catalogue.IntentStopped || search.Why != "it leaks" || !search.Safe || !strings.Contains(search.Terms, "free") {
		t.Errorf("the stopped intent: %+v", search)
	}
	if order.State != catalogue.IntentOffered || order.Safe || !strings.Contains(order.Terms, "0.25 EUR") || order.Calls != 3 ||
		order.Refused != 1 || order.Failed != 1 {
		t.Errorf("the used intent: %+v", order)
	}
	g.Pass(25 * time.Hour)
	if list := items[catalogue.CatalogueItem](g, "/catalogue?search=ORDER"); len(list) != 1 || list[0].Calls != 0 {
		t.Errorf("a day later: %+v", list)
	}
	first := ask[api.Page[catalogue.CatalogueItem]](g, "GET", "/catalogue?limit=1", nil)
	if len(first.Items) != 1 || first.Next != gatetest.Searching {
		t.Errorf("the first page: %+v", first)
	}
	rest := ask[api.Page[catalogue.CatalogueItem]](g, "GET", "/catalogue?limit=1&after="+first.Next, nil)
	if len(rest.Items) != 1 || rest.Next != "" {
		t.Errorf("the second page: %+v", rest)
	}
	g.Refuses(g.do("GET", "/catalogue?after=nothing", nil), http.StatusBadRequest, "MALFORMED_REQUEST")
}

func TestIntentsThatThePolicyDoesNotPermitAreClosed(t *testing.T) {
	g := newAdminGate(t, "")
	g.Write("policy.json", strings.Replace(gatetest.PolicyFile, `{"target": "shop.example:search:v1", "action": "execute"},`, "", 1))
	g.Reload()
	if list := items[catalogue.CatalogueItem](g, "/catalogue"); list[0].State != catalogue.IntentClosed || list[0].Why == "" {
		t.Errorf("got %+v", list[0])
	}
}

func TestAnAgreementIsVerified(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	agreement := items[agreements.Agreement](g, "/agreements")[0]
	proof := ask[agreements.AgreementProof](g, "GET", "/agreements/"+string(agreement.ID)+"/proof", nil)
	if !proof.Proved || !strings.HasPrefix(proof.Text, "this key signed this policy") || proof.Agreement.AgentID != a.ID {
		t.Errorf("got %+v", proof)
	}
	g.Refuses(g.do("GET", "/agreements/none/proof", nil), http.StatusNotFound, "NO_SUCH_RECORD")
}

func TestReceiptOfACall(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	paid := g.Execute(a, gatetest.Ordering)
	free := g.Execute(a, gatetest.Searching, "Idempotency-Key", "k-1")
	if free.Status != http.StatusOK {
		t.Fatalf("got %d %s", free.Status, free.Body)
	}
	for _, e := range items[calls.Execution](g, "/usage/executions") {
		path := "/usage/executions/" + e.ID + "/receipt"
		if e.Intent == gatetest.Searching {
			g.Refuses(g.do("GET", path, nil), http.StatusNotFound, "NO_SUCH_RECORD")
			continue
		}
		if got := ask[billing.Receipt](g, "GET", path, nil); got.Receipt != paid.Header.Get("UIM-Receipt") || got.ExecutionID != e.ID {
			t.Errorf("got %+v, want %s", got, paid.Header.Get("UIM-Receipt"))
		}
	}
}

func TestExplanationsNameTheTrace(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	const id = "0af7651916cd43dd8448eb211c80319c"
	request := g.Execute(a, gatetest.Searching, "Traceparent", "00-"+id+"-b7ad6b7169203331-01").Header.Get("UIM-Request-ID")
	refused := g.Call("/api/pat/issue", "", map[string]any{}, "Traceparent", "00-"+id+"-b7ad6b7169203331-01").Header.Get("UIM-Request-ID")
	for _, request := range []string{request, refused} {
		if why := items[calls.Why](g, "/requests/"+request); why[0].TraceID != id {
			t.Errorf("got %+v", why[0])
		}
	}
}
