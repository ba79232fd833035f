package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// manyIntents is a catalogue with n intents.
func manyIntents(n int) func(*gatetest.Gate) {
	return func(g *gatetest.Gate) {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"intent_uid": "shop.example:part-%d:v1", "intent_name": "Part", "description": %q,
				"endpoint": {"url": "https://shop.example/parts/%d", "method": "GET"}},`, i, strings.Repeat("A part. ", 30), i)
		}
		g.Write("agents.json", strings.Replace(gatetest.AgentsFile, `"intents": [`, `"intents": [`+b.String(), 1))
	}
}

func TestPagesOfALargeCatalogueAreSmall(t *testing.T) {
	g := newConsoleGate(t, "", manyIntents(20_000))
	b := g.as(api.RoleOperator)
	for _, path := range []string{
		"/console/catalogue", "/console/catalogue?limit=100", "/console/catalogue?search=part-19", tryPath, "/console/doors",
		tryPath + "?intent=shop.example:part-19999:v1",
	} {
		if got := b.get(path); got.status != http.StatusOK || len(got.body) > maxPage {
			t.Errorf("%s: %d, %d bytes", path, got.status, len(got.body))
		}
	}
	page := b.page("/console/catalogue")
	next := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(page)
	if next == nil || !strings.Contains(page, "part-49:v1") || strings.Contains(page, "part-50:v1") {
		t.Fatalf("got %s", page)
	}
	page = b.page(strings.ReplaceAll(next[1], "&amp;", "&"))
	if !strings.Contains(page, "part-50:v1") || strings.Contains(page, "part-49:v1") {
		t.Errorf("got %s", page)
	}
}

func TestTheCatalogueShowsStopsAndUse(t *testing.T) {
	g := newConsoleGate(t, "")
	g.Execute(g.Agreed("agent-1"), gatetest.Ordering)
	b := g.as(api.RoleOperator)
	stop := url.Values{"kind": {"intent"}, "subject": {gatetest.Ordering}, "scope": {"every"}, "reason": {"wrong prices"}}
	b.done(b.confirm("/console/stops", "/console/stops/stop", stop), "stopped")
	page := b.page("/console/catalogue?search=order")
	for _, want := range []string{
		`<span class="state bad">stopped</span>`, "wrong prices", "0.25 EUR", `<td class="number">1</td>`, tryPath + "?intent=",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	if strings.Contains(page, gatetest.Searching) {
		t.Error("the search was ignored")
	}
}

func TestAnAgreementIsVerifiedInTheConsole(t *testing.T) {
	g := newConsoleGate(t, "")
	g.Agreed("agent-1")
	list, err := admin.Call(t.Context(), g.operator, operation.Agreements, agreements.AgreementQuery{})
	g.Must(err)
	path := "/console/agreements/" + string(list.Items[0].ID)
	b := g.as(api.RoleViewer)
	if page := b.page(path); !strings.Contains(page, path+"?verify=yes") {
		t.Fatalf("got %s", page)
	}
	if page := b.page(path + "?verify=yes"); !strings.Contains(page, `<span class="state ok">proved</span>`) ||
		!strings.Contains(page, "This key signed this policy") {
		t.Errorf("got %s", page)
	}
}

func TestInvoicesAndCreditNotesCanBePrinted(t *testing.T) {
	g := newConsoleGate(t, "billing: {credit: 100 EUR}\nservices:\n- {agents_file: agents.json, policy_file: policy.json, "+
		"upstream: {url: UPSTREAM}, "+gatetest.Unproved+"}\n")
	g.Execute(g.Agreed("agent-1"), gatetest.Ordering)
	b := g.as(api.RoleAdmin)
	charged, err := admin.Call(t.Context(), g.operator, operation.Executions, calls.UsageQuery{})
	g.Must(err)
	call := "/console/money/calls/" + charged.Items[0].ID
	b.done(b.confirm(call, call+"/refund", url.Values{"amount": {"0.10 EUR"}, "reason": {"<b>late</b>"}, "name": {"r-1"}}), "CN-000001")
	if page := b.page("/console/money/refunds"); !strings.Contains(page, `href="/console/money/refunds/CN-000001"`) {
		t.Errorf("the list lacks the credit note: %s", page)
	}
	for path, want := range map[string]string{
		"/console/money/refunds/CN-000001":              "<h1>Credit note CN-000001</h1>",
		"/console/agents/agent-1/invoice?month=2026-11": "<h1>Draft of an invoice",
	} {
		got := b.get(path)
		csp := got.header.Get("Content-Security-Policy")
		if got.status != http.StatusOK || !strings.Contains(got.body, want) || strings.Contains(got.body, "<b>late") ||
			!strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "script-src") {
			t.Errorf("%s: %d %s %s", path, got.status, csp, got.body)
		}
	}
	for path, want := range map[string]int{
		"/console/money/refunds/CN-000009": http.StatusNotFound, "/console/agents/agent-1/invoice": http.StatusBadRequest,
		"/console/agents/nothing/invoice?month=2026-11": http.StatusNotFound,
	} {
		if got := b.get(path); got.status != want {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

func TestACallsPageHasAllSteps(t *testing.T) {
	const constraint = `"constraint": [{"leftOperand": "dateTime", "operator": "gteq",
		"rightOperand": {"@value": "2026-01-01T00:00:00Z", "@type": "xsd:dateTime"}}], "duty"`
	g := newConsoleGate(t, "telemetry: {trace_url: 'https://traces.example/{trace_id}?view=full'}\nservices:\n"+
		"- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+"}\n", func(g *gatetest.Gate) {
		g.Write("policy.json", strings.Replace(gatetest.PolicyFile, `"duty"`, constraint, 1))
	})
	a := g.Agreed("agent-1")
	const id = "0af7651916cd43dd8448eb211c80319c"
	call := g.Execute(a, gatetest.Ordering, "Traceparent", "00-"+id+"-b7ad6b7169203331-01")
	page := g.as(api.RoleViewer).page("/console/calls/" + call.Header.Get("UIM-Request-ID"))
	for _, want := range []string{
		"1 authenticate", "9 settle", "not reached", "Clause by clause", ">satisfied<", call.Header.Get("UIM-Receipt"),
		`href="https://traces.example/` + id + `?view=full"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
}

const (
	curationPath = "/console/catalogue/curation"
	curationText = "selection: {new: none}\noperations:\n" +
		"  order: {hidden: false, uid: shop.example:order:v1, price: 0.25 EUR, notes: \"<i>mine</i>\"} # POST /orders\n" +
		"  search: {hidden: false, uid: shop.example:search:v1} # GET /search\n"
)

// edited are the fields of the form of the operation order, with another price.
func edited(page, price string) url.Values {
	return url.Values{
		"key": {"order"}, "sha256": {hiddenValue(page, "sha256")}, "state": {"offered"}, "name": {""}, "description": {"Orders\r\ntea."},
		"price": {price}, "limit": {""}, "agreement": {""}, "notes": {"<i>mine</i>"},
	}
}

func TestCurationInTheConsole(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleAdmin)
	if page := b.page(curationPath); !strings.Contains(page, "The service has no curation") {
		t.Errorf("without a file: %s", page)
	}
	g.Write("openapi.curation.yaml", curationText)
	g.Execute(g.Agreed("agent-1"), gatetest.Ordering, "UIM-Request-ID", "o-1")
	g.Must(g.Audit.Flush())
	const operation = curationPath + "/operation?key=order"
	if page := b.page(curationPath); !strings.Contains(page, operation) || !strings.Contains(page, "&lt;i&gt;mine") {
		t.Fatalf("got %s", page)
	}
	form := b.page(operation)
	compared := b.submit(operation, curationPath+"/impact", edited(form, "0.75 EUR"))
	for _, want := range []string{
		"&#43;   order:", "shop.example:order:v1: price 0.25 EUR → 0.75 EUR", "/console/calls/o-1", "Agents that must agree again",
		"/console/agents/agent-1",
	} {
		if compared.status != http.StatusOK || !strings.Contains(compared.body, want) {
			t.Errorf("the comparison lacks %q: %d %s", want, compared.status, compared.body)
		}
	}
	for _, role := range []api.Role{api.RoleViewer, api.RoleOperator} {
		got := g.as(role).submit(operation, curationPath+"/impact", edited(form, "0.75 EUR"))
		if got.status != http.StatusOK || csrf(got.body, curationPath+"/save") != "" || !strings.Contains(got.body, "sign in as admin") {
			t.Errorf("as %s: %d %s", role, got.status, got.body)
		}
	}
	fields := edited(form, "0.75 EUR")
	fields.Set("csrf", csrf(compared.body, curationPath+"/save"))
	review := b.post(curationPath+"/save", fields)
	if review.status != http.StatusOK || !strings.Contains(review.body, "price 0.25 EUR → 0.75 EUR") {
		t.Fatalf("the review: %d %s", review.status, review.body)
	}
	fields.Set("confirmed", "yes")
	saved := b.post(curationPath+"/save", fields)
	if saved.status != http.StatusOK || !strings.Contains(saved.body, "The curation is saved") ||
		!strings.Contains(saved.body, "policy.json.1") {
		t.Fatalf("got %d %s", saved.status, saved.body)
	}
	if page := b.page("/console/catalogue?search=order"); !strings.Contains(page, "0.75 EUR") || !strings.Contains(page, "Orders\ntea.") {
		t.Errorf("the gateway serves: %s", page)
	}
	if !strings.Contains(g.audited.String(), "POST /curation") {
		t.Errorf("the audit lacks the change: %s", g.audited.String())
	}
	fields.Set("price", "0.80 EUR")
	if stale := b.post(curationPath+"/save", fields); stale.status != http.StatusConflict || !strings.Contains(stale.body, "Your edit") {
		t.Errorf("a file that was changed: %d %s", stale.status, stale.body)
	}
	for name, value := range map[string]string{"price": "much", "limit": "many", "key": "none"} {
		wrong := edited(form, "0.75 EUR")
		wrong.Set(name, value)
		if got := b.submit(operation, curationPath+"/impact", wrong); got.status != http.StatusBadRequest && got.status != http.StatusNotFound {
			t.Errorf("%s = %s: %d", name, value, got.status)
		}
	}
}
