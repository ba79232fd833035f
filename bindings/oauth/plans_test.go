package oauth_test

import (
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// planned is a policy that permits searches 2 times a day under the plan free, and 9 times under pro; orders only under pro.
var planned = strings.Replace(gatetest.PolicyFile, `{"target": "shop.example:search:v1", "action": "execute"},`,
	planOf("search", "free", `{"leftOperand": "count", "operator": "lteq", "rightOperand": 2, "unit": "day"}`)+
		planOf("search", "pro", `{"leftOperand": "count", "operator": "lteq", "rightOperand": 9, "unit": "day"}`), 1)

func planOf(intent, plan, limit string) string {
	return `{"target": "shop.example:` + intent + `:v1", "action": "execute", "constraint": [` +
		`{"leftOperand": "uim:plan", "operator": "eq", "rightOperand": "` + plan + `"}, ` + limit + `]},`
}

// A person chooses a plan on the page. The client gets it, also in later tokens, and cannot choose another one.
func TestPersonChoosesAPlan(t *testing.T) {
	g := newGate(t, "")
	g.offer(planned)
	b, p := g.browser(), newPKCE()
	page := b.page(g.query(p))
	for _, want := range []string{
		"Which plan applies", `name="plan" value="free" required>`, `name="plan" value="pro" required>`, "2 calls a day", "9 calls a day",
	} {
		if !strings.Contains(string(page.Body), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(page.Body), "No plan") {
		t.Error("the page offers a consent without a plan, which would permit nothing")
	}
	for _, wrong := range []string{"", "partner", "none"} {
		form := formOf(page)
		form.Set("plan", wrong)
		if got := b.do(http.MethodPost, "/oauth/authorize", form); got.Status != http.StatusOK || !strings.Contains(string(got.Body), "Choose a plan") {
			t.Errorf("the plan %q: %d %s", wrong, got.Status, got.Body)
		}
	}
	form := formOf(page)
	form.Set("plan", "free")
	sent := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", form))
	got := g.post("/oauth/token", g.exchange(sent.Get("code"), p))
	again := g.post("/oauth/token", g.refresh(got.Refresh))
	for _, token := range []string{got.Access, again.Access} {
		claims, err := g.Directory.Current().Service("default").Verifier.Verify(g.Context(), token, g.Now())
		g.Must(err)
		if claims.Declared.Plan() != "free" {
			t.Fatalf("the token declares %v; want the plan free", claims.Declared)
		}
	}
	a := &gatetest.Agent{Token: again.Access}
	for n, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
		if got := g.Execute(a, gatetest.Searching); got.Status != want {
			t.Errorf("call %d: %d %s; want %d", n, got.Status, got.Body, want)
		}
	}
}

// A consent without a plan permits the intents that need no plan, and the page states that.
func TestPersonMayChooseNoPlan(t *testing.T) {
	g := newGate(t, "")
	g.offer(strings.Replace(planned, `"permission": [`, `"permission": [{"target": "shop.example:search:v1", "action": "execute"},`, 1))
	b, p := g.browser(), newPKCE()
	page := b.page(g.query(p))
	if !strings.Contains(string(page.Body), "No plan") {
		t.Fatalf("the page offers no consent without a plan: %s", page.Body)
	}
	form := formOf(page)
	form.Set("plan", "")
	sent := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", form))
	got := g.post("/oauth/token", g.exchange(sent.Get("code"), p))
	if result := g.Execute(&gatetest.Agent{Token: got.Access}, gatetest.Searching); result.Status != http.StatusOK {
		t.Errorf("got %d %s", result.Status, result.Body)
	}
}
