package bindings_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
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

// A person who consents again with another plan keeps the counters, and ends the earlier consent. The free plan cannot be used twice.
// Another browser is another agent.
func TestPersonChangesThePlan(t *testing.T) {
	t.Parallel()
	g := newGate(t, "")
	g.offer(planned)
	b := g.browser()
	consent := func(b *browser, plan string) string {
		t.Helper()
		g.Later(time.Second)
		p := newPKCE()
		form := formOf(b.page(g.query(p)))
		form.Set("plan", plan)
		sent := g.sentTo(b.do(http.MethodPost, "/oauth/authorize", form))
		return g.post("/oauth/token", g.exchange(sent.Get("code"), p)).Access
	}
	claims := func(token string) *pat.Claims {
		t.Helper()
		c, err := g.Directory.Current().Service("default").Verifier.Verify(g.Context(), token, g.Now())
		g.Must(err)
		return c
	}
	calls := func(token string, want ...int) {
		t.Helper()
		for n, status := range want {
			if got := g.Execute(&gatetest.Agent{Token: token}, gatetest.Searching); got.Status != status {
				t.Errorf("call %d: %d %s; want %d", n, got.Status, got.Body, status)
			}
		}
	}
	free := consent(b, "free")
	calls(free, http.StatusOK, http.StatusOK, http.StatusTooManyRequests)
	again := consent(b, "free")
	calls(again, http.StatusTooManyRequests)
	first := claims(again)
	pro := consent(b, "pro")
	last := claims(pro)
	if last.Subject != first.Subject || last.Agreement == first.Agreement || last.Declared.Plan() != "pro" {
		t.Fatalf("got %+v after %+v; want the same agent with another agreement", last, first)
	}
	calls(again, http.StatusUnauthorized)
	calls(free, http.StatusUnauthorized)
	calls(pro, append(slices.Repeat([]int{http.StatusOK}, 7), http.StatusTooManyRequests)...)
	a, err := g.Store.Agreement(t.Context(), "default", last.Agreement)
	g.Must(err)
	document, err := g.Store.Policy(t.Context(), "default", a.PolicyDigest)
	g.Must(err)
	bundle, err := pat.Export(a, document, nil)
	g.Must(err)
	if got, err := pat.VerifyExport(bundle, nil); err != nil || got.Agreement.Plan != "pro" || got.Agreement.AgentID != first.Subject {
		t.Errorf("the record: %+v, %v", got.Agreement, err)
	}
	other := consent(g.browser(), "free")
	if claims(other).Subject == first.Subject {
		t.Error("another browser has the same agent")
	}
	calls(other, http.StatusOK)

	// A person whose agent the operator has blocked cannot continue with another consent.
	g.Must(g.Directory.Current().Service("default").Issuance.Revoke(t.Context(),
		pat.Revocation{Kind: pat.RevokedAgent, Subject: string(first.Subject), Reason: "test"}))
	g.Later(time.Second)
	form := formOf(b.page(g.query(newPKCE())))
	form.Set("plan", "free")
	if got := b.do(http.MethodPost, "/oauth/authorize", form); strings.Contains(got.Header.Get("Location"), "code=") {
		t.Errorf("a blocked agent: %d %s", got.Status, got.Header.Get("Location"))
	}
}
