package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

const (
	tryPath   = "/console/doors/try"
	agreePath = "/console/doors/try/agree"
	callPath  = "/console/doors/try/call"
)

// everyKind are the intents with a parameter of each kind in place of those of the catalogue.
func everyKind(g *gatetest.Gate) {
	g.Write("agents.json", strings.Replace(gatetest.AgentsFile, `[{"name": "product", "type": "string", "required": true}`,
		`[{"name": "product", "type": "string", "required": true},
		{"name": "colour", "type": "string", "enum": ["red", "blue"]}, {"name": "count", "type": "integer"},
		{"name": "gift", "type": "boolean"}, {"name": "items", "type": "array", "items": {"type": "string"}},
		{"name": "note", "type": "string", "maxLength": 5000}`, 1))
}

func TestACallFromThePlayground(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleOperator)
	page := b.page(tryPath)
	if !strings.Contains(page, "has not agreed") || csrf(page, agreePath) == "" {
		t.Fatalf("got %s", page)
	}
	digest := g.Directory.Current().Services()[0].Offer().Digest
	agreed := b.submit(tryPath, agreePath, url.Values{"policy_digest": {digest}})
	if agreed.status != http.StatusOK || !strings.Contains(agreed.body, "The test agent has agreed") || strings.Contains(agreed.body, "eyJ") {
		t.Fatalf("got %d %s", agreed.status, agreed.body)
	}
	chosen := tryPath + "?intent=" + gatetest.Ordering + "&door=uim"
	form := url.Values{
		"intent": {gatetest.Ordering}, "door": {"uim"}, "idempotency_key": {hiddenValue(b.page(chosen), "idempotency_key")}, "p.product": {"tea"},
	}
	got := b.submit(chosen, callPath, form)
	for _, want := range []string{
		">permit<", "0.25 EUR captured", "POST /api/intents/execute HTTP/1.1", "(the PAT)", "HTTP/1.1 200 OK", `href="/console/calls/`,
	} {
		if got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("the result lacks %q: %d %s", want, got.status, got.body)
		}
	}
	b.submit(chosen, callPath, form) // the back button, and the same form again
	accounts, err := admin.Call(t.Context(), g.operator, operation.Accounts, billing.AccountQuery{})
	if err != nil || len(accounts.Items) != 1 || accounts.Items[0].Captured != "0.25" {
		t.Errorf("a form that is sent twice: %+v, %v", accounts, err)
	}
	if list := b.page("/console/agents?search=playground"); !strings.Contains(list, "/console/agents/playground-") {
		t.Errorf("the list of agents lacks the test agent: %s", list)
	}
	if n := strings.Count(g.audited.String(), `"by":"ann-operator"`); n != 4 { // with the sign-in
		t.Errorf("%d changes in the audit, want 4: %s", n, g.audited.String())
	}
	for _, role := range []api.Role{api.RoleViewer, api.RoleBilling} {
		other := g.as(role)
		if page := other.page(chosen); csrf(page, callPath) != "" || csrf(page, agreePath) != "" {
			t.Errorf("the page of %s has a form", role)
		}
		if got := other.post(callPath, form); got.status != http.StatusForbidden {
			t.Errorf("a call by %s: %d", role, got.status)
		}
	}
}

func TestParametersOfATestCall(t *testing.T) {
	g := newConsoleGate(t, "", everyKind)
	b := g.as(api.RoleOperator)
	chosen := tryPath + "?intent=" + gatetest.Ordering
	page := b.page(chosen)
	for _, want := range []string{
		`name="p.colour"`, `<option value="&#34;red&#34;">`, `name="p.count" type="number"`, `<option value="true">`,
		`<textarea id="p4" name="p.items"`, `<textarea id="p5" name="p.note"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the form lacks %s: %s", want, page)
		}
	}
	send := func(fields url.Values) pageResponse {
		form := url.Values{"intent": {gatetest.Ordering}, "door": {""}}
		maps.Copy(form, fields)
		return b.submit(chosen, callPath, form)
	}
	got := send(url.Values{
		"p.colour": {`"red"`}, "p.count": {"3"}, "p.gift": {"true"}, "p.items": {`["a", "b"]`}, "p.note": {"one\r\ntwo"}, "p.product": {"tea"},
	})
	want := `&#34;parameters&#34;:{&#34;colour&#34;:&#34;red&#34;,&#34;count&#34;:3,&#34;gift&#34;:true,&#34;items&#34;:[&#34;a&#34;,&#34;b&#34;],&#34;note&#34;:&#34;one\ntwo&#34;,&#34;product&#34;:&#34;tea&#34;}`
	if got.status != http.StatusOK || !strings.Contains(got.body, want) {
		t.Errorf("the request lacks %s: %d %s", want, got.status, got.body)
	}
	if got := send(url.Values{"p.count": {"three"}}); !strings.Contains(got.body, `&#34;count&#34;:&#34;three&#34;`) {
		t.Errorf("an invalid number: %d %s", got.status, got.body)
	}
	wrong := send(url.Values{"p.items": {"[a"}})
	if wrong.status != http.StatusBadRequest || !strings.Contains(wrong.body, "items is not valid JSON") {
		t.Errorf("an invalid list: %d %s", wrong.status, wrong.body)
	}
	if got := send(url.Values{"intent": {"shop.example:gone:v1"}}); got.status != http.StatusNotFound {
		t.Errorf("an unknown intent: %d", got.status)
	}
}

func TestAPlaygroundThatIsOff(t *testing.T) {
	g := newConsoleGate(t, "admin: {playground: false}\nservices:\n"+
		"- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n")
	b := g.as(api.RoleAdmin)
	if got := b.get(tryPath); got.status != http.StatusNotFound || !strings.Contains(got.body, "admin.playground") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if page := b.page("/console/doors"); strings.Contains(page, tryPath) {
		t.Error("the page of doors links to the playground")
	}
}
