package daemon_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/uimgate/uimgate/pat"
)

// plansPolicy offers details free of charge three times a day, for 0.02 EUR six times a day, or for 0.01 EUR 150 times a day; orders only
// under pro and partner; and searches to everyone.
const plansPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:search-products:v1", "action": "execute"},
    {"uid": "https://shop.example/policy/1#free", "target": "shop.example:product-details:v1", "action": "execute",
     "constraint": [{"leftOperand": "uim:plan", "operator": "eq", "rightOperand": "free"},
                    {"leftOperand": "count", "operator": "lteq", "rightOperand": 3, "unit": "day"}]},
    {"uid": "https://shop.example/policy/1#pro", "target": "shop.example:product-details:v1", "action": "execute",
     "constraint": [{"leftOperand": "uim:plan", "operator": "eq", "rightOperand": "pro"},
                    {"leftOperand": "count", "operator": "lteq", "rightOperand": 6, "unit": "day"}],
     "duty": [{"action": "pay", "amount": "0.02", "unit": "EUR"}]},
    {"uid": "https://shop.example/policy/1#partner", "target": "shop.example:product-details:v1", "action": "execute",
     "constraint": [{"leftOperand": "uim:plan", "operator": "eq", "rightOperand": "partner"},
                    {"leftOperand": "count", "operator": "lteq", "rightOperand": 150, "unit": "week"}],
     "duty": [{"action": "pay", "amount": "0.01", "unit": "EUR"}]},
    {"target": "shop.example:place-order:v1", "action": "execute",
     "constraint": [{"leftOperand": "uim:plan", "operator": "isAnyOf", "rightOperand": ["pro", "partner"]}]}]
}`

var plansConfig = strings.Replace(strings.Replace(testConfig, "credit: 1 EUR, newcomers: 1 EUR", "credit: 1000 EUR", 1),
	`{"shop.example:place-order:v1": {proof: optional}}`,
	`{"shop.example:place-order:v1": {proof: optional}, "shop.example:product-details:v1": {proof: optional}}`, 1)

// planGates are a gateway on SQLite, and two gateways that share a PostgreSQL database.
func planGates(t *testing.T, run func(t *testing.T, gates []*gate)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		run(t, []*gate{startGate(t, setup{policy: plansPolicy, config: plansConfig})})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		dsn := migrated.Copy(t)
		var gates []*gate
		for range 2 {
			gates = append(gates, startGate(t, setup{
				policy: plansPolicy, config: "store: ${file:store.url}\n" + plansConfig, files: map[string]string{"store.url": dsn + "\n"},
			}))
		}
		run(t, gates)
	})
}

// choose makes a new agreement with a plan; empty: without one. It keeps the PAT.
func (a *agent) choose(plan string) answer {
	a.g.t.Helper()
	got := a.issueWith(a.agreement(func(c *pat.AgreementClaims) {
		if plan != "" {
			c.Declared = pat.Declaration{"plan": {plan}}
		}
	}))
	if got.status == http.StatusOK {
		a.token, _ = got.json(a.g.t)["uim-pat"].(string)
	}
	return got
}

func TestPlansPermitAndCharge(t *testing.T) {
	t.Parallel()
	planGates(t, func(t *testing.T, gates []*gate) {
		t.Helper()
		g, one := gates[0], map[string]any{"id": "p1"}
		for plan, want := range map[string]struct{ details, charge, order string }{
			"":        {"PLAN_REQUIRED", "", "PLAN_REQUIRED"},
			"free":    {"", "", "PLAN_REQUIRED"},
			"pro":     {"", "0.02 EUR", ""},
			"partner": {"", "0.01 EUR", ""},
		} {
			a := g.newAgent("agent-" + orElse(plan, "none"))
			if got := a.choose(plan); got.status != http.StatusOK {
				t.Fatalf("%q: %d %s", plan, got.status, got.body)
			}
			if got := a.execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK {
				t.Errorf("%q: a search: %d %s", plan, got.status, got.body)
			}
			got := a.execute(details, one, nil)
			charge, _, _ := strings.Cut(got.header.Get("UIM-Charge"), ";")
			if got.status == http.StatusOK != (want.details == "") || want.details != "" && got.reason(t) != want.details || charge != want.charge {
				t.Errorf("%q: details: %d %s, charge %q; want %+v", plan, got.status, got.body, charge, want)
			}
			got = a.execute(order, map[string]any{"product_id": "p1"}, nil)
			if got.status == http.StatusOK != (want.order == "") || want.order != "" && got.reason(t) != want.order {
				t.Errorf("%q: an order: %d %s; want %+v", plan, got.status, got.body, want)
			}
			if want.order != "" && (!strings.Contains(string(got.body), `"plans":["pro","partner"]`) || !strings.Contains(string(got.body), "pro, partner")) {
				t.Errorf("%q: the refusal does not list the plans: %s", plan, got.body)
			}
		}
	})
}

func TestAgreementsWithoutAKnownPlanAreRefused(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{policy: plansPolicy, config: plansConfig})
	a := g.newAgent("agent-1")
	got := a.choose("gold")
	if got.status != http.StatusBadRequest || got.reason(t) != "UNKNOWN_PLAN" || !strings.Contains(string(got.body), `"plans":["free","pro","partner"]`) {
		t.Errorf("an unknown plan: %d %s", got.status, got.body)
	}
	issue := func(plan any, declared ...string) answer {
		signed := a.agreement(func(c *pat.AgreementClaims) {
			if declared != nil {
				c.Declared = pat.Declaration{"plan": declared}
			}
		})
		return g.do("POST", "/api/pat/issue", mustJSON(t, map[string]any{
			"agent_id": a.id, "signed_policy": signed, "agent_public_key": a.publicKey(), "plan": plan,
		}), header{"Content-Type": "application/json"})
	}
	for name, got := range map[string]answer{
		"not signed": issue("pro"), "another one signed": issue("pro", "free"), "two signed": issue("pro", "free", "pro"),
	} {
		if got.status != http.StatusBadRequest || got.reason(t) != "UNKNOWN_PLAN" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if got := issue("pro", "pro"); got.status != http.StatusOK {
		t.Errorf("requested as signed: %d %s", got.status, got.body)
	}
	signed := a.agreement(func(c *pat.AgreementClaims) { c.Scope = []string{order + ":execute"} })
	if got := a.issueWith(signed); got.reason(t) != "PLAN_REQUIRED" {
		t.Errorf("only intents with plans, without a plan: %d %s", got.status, got.body)
	}
	plain := startGate(t, setup{})
	b := plain.newAgent("agent-1")
	b.g = plain
	a, g = b, plain
	if got := issue("pro", "pro"); got.reason(t) != "UNKNOWN_PLAN" {
		t.Errorf("a policy without plans: %d %s", got.status, got.body)
	}
}

func TestChangeOfPlanCarriesCounters(t *testing.T) {
	t.Parallel()
	planGates(t, func(t *testing.T, gates []*gate) {
		t.Helper()
		g, last := gates[0], gates[len(gates)-1]
		one := map[string]any{"id": "p1"}
		call := func(a *agent, plan string, permitted int, charge string) {
			t.Helper()
			for n := range permitted {
				got := a.execute(details, one, nil)
				if own, _, _ := strings.Cut(got.header.Get("UIM-Charge"), ";"); got.status != http.StatusOK || own != charge {
					t.Fatalf("%s, call %d: %d %s, charge %q; want %d and %q", plan, n, got.status, got.body, own, http.StatusOK, charge)
				}
			}
			if got := a.execute(details, one, nil); got.status != http.StatusTooManyRequests {
				t.Fatalf("%s, after %d calls: %d %s; want %d", plan, permitted, got.status, got.body, http.StatusTooManyRequests)
			}
		}
		a := g.newAgent("agent-1")
		a.choose("free")
		call(a, "free", 3, "")
		before := *a
		b := a.at(last)
		b.choose("pro")
		call(b, "pro", 3, "0.02 EUR") // 6 a day, with the 3 free ones
		if got := before.execute(details, one, nil); got.status != http.StatusUnauthorized {
			t.Errorf("a PAT of the earlier plan: %d %s; want %d", got.status, got.body, http.StatusUnauthorized)
		}
		if got := before.do("POST", "/api/pat/renew", nil); got.status != http.StatusUnauthorized {
			t.Errorf("its renewal: %d %s; want %d", got.status, got.body, http.StatusUnauthorized)
		}
		b.choose("free")
		call(b, "free again", 0, "")
		b.choose("partner") // 150 a week: the 6 calls of today count
		call(b, "partner", 144, "0.01 EUR")
	})
}

// do sends a request with the PAT of the agent.
func (a *agent) do(method, path string, body []byte) answer {
	return a.g.do(method, path, body, header{"Authorization": "Bearer " + a.token})
}

// The agent changes its plan while 100 calls under the old plan are in progress. The calls under both plans together reach the limit of the
// new plan exactly, and each has the price of the plan under which it began.
func TestParallelCallsDuringAChangeOfPlan(t *testing.T) {
	t.Parallel()
	planGates(t, func(t *testing.T, gates []*gate) {
		t.Helper()
		const most = 150
		policy := strings.NewReplacer(`"rightOperand": 6,`, `"rightOperand": 100000,`, `"unit": "week"`, `"unit": "day"`).Replace(plansPolicy)
		for _, g := range gates {
			g.write("policy.json", policy)
			g.reload <- struct{}{}
			until(t, http.StatusOK, func() answer {
				got := g.do("GET", "/api/policy", nil, nil)
				if !strings.Contains(string(got.body), "100000") {
					got.status = 0
				}
				return got
			})
		}
		g, last := gates[0], gates[len(gates)-1]
		a := g.newAgent("agent-1")
		a.choose("pro")
		was, b := *a, a.at(last)
		signed := b.agreement(func(c *pat.AgreementClaims) { c.Declared = pat.Declaration{"plan": {"partner"}} })
		var (
			calls   sync.WaitGroup
			mu      sync.Mutex
			charges = map[string]int{}
			some    = make(chan struct{})
			changed = make(chan struct{})
			begun   sync.Once
		)
		run := func(as agent, of *gate) int {
			got := as.at(of).execute(details, map[string]any{"id": "p1"}, nil)
			charge, _, _ := strings.Cut(got.header.Get("UIM-Charge"), ";")
			mu.Lock()
			defer mu.Unlock()
			if got.status == http.StatusOK {
				if charges[charge]++; charges[charge] >= 10 {
					begun.Do(func() { close(some) })
				}
			}
			return got.status
		}
		for n := range 100 {
			calls.Go(func() {
				of := gates[n%len(gates)]
				run(was, of)
				<-changed
				for run(*a, of) == http.StatusOK {
				}
			})
		}
		<-some
		got := b.issueWith(signed)
		a.token, _ = got.json(t)["uim-pat"].(string)
		close(changed)
		calls.Wait()
		if got.status != http.StatusOK || a.token == was.token {
			t.Fatalf("the change: %d %s", got.status, got.body)
		}
		pro, partner := charges["0.02 EUR"], charges["0.01 EUR"]
		t.Logf("%d calls under pro, %d under partner", pro, partner)
		if pro+partner != most || pro < 10 || len(charges) != 2 {
			t.Errorf("charges %v: want %d calls together, at least 10 of them under pro", charges, most)
		}
		for _, at := range gates {
			if n := run(*a, at); n != http.StatusTooManyRequests {
				t.Errorf("one more call: %d; want %d", n, http.StatusTooManyRequests)
			}
		}
		until(t, http.StatusOK, func() answer {
			got := g.adminDo("GET", "/admin/v1/usage/accounts", nil)
			if strings.Contains(string(got.body), `"held":"0.00"`) {
				return got
			}
			return answer{}
		})
	})
}
