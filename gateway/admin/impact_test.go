package admin_test

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/internal/problem"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// impactPolicy permits searching from 2020 on, at most twice an hour, and ordering for a price.
const impactPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:search:v1", "action": "execute",
     "constraint": [{"leftOperand": "dateTime", "operator": "gteq", "rightOperand": "2020-01-01T00:00:00Z"},
       {"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 2, "unit": "hour"}]},
    {"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}
  ]
}`

const impactSettings = `services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: UPSTREAM}
  ` + gatetest.Unproved + `
`

// impactGate is a gateway whose audit stream has 3 searches and 2 orders. A limit refused one of the searches.
func impactGate(t *testing.T) *adminGate {
	t.Helper()
	g := newAdminGate(t, impactSettings)
	g.Write("policy.json", impactPolicy)
	g.Reload()
	g.settings.Audit, g.settings.AuditPath = g.Audit, g.AuditPath()
	g.operator = admin.New(g.settings)
	g.listener.Config.Handler = g.handler(g.operator, adminToken)
	a := g.Agreed("agent-1")
	for _, id := range []string{"s-1", "s-2", "s-3"} {
		g.Execute(a, gatetest.Searching, "UIM-Request-ID", id)
	}
	g.Execute(a, gatetest.Ordering, "UIM-Request-ID", "o-1")
	g.Execute(a, gatetest.Ordering, "UIM-Request-ID", "o-2")
	g.Call("/api/intents/execute", a.Token, map[string]any{"intent_uid": gatetest.Searching, "parameters": map[string]any{"query": 7}})
	return g
}

func (g *adminGate) impact(policy string) policies.PolicyImpact {
	g.Helper()
	return ask[policies.PolicyImpact](g, "POST", "/policy/impact", map[string]any{"policy": policy})
}

func TestImpactOfAnEditedPolicy(t *testing.T) {
	g := impactGate(t)
	ids := func(set policies.ImpactSet) []string {
		return names(set.First, func(c policies.ImpactCall) string { return c.RequestID })
	}
	for name, c := range map[string]struct {
		edit                         []string
		refused, permitted, repriced []string
		money                        string
		intents                      []string
	}{
		"nothing": {nil, nil, nil, nil, "0.50 0.50 0.00", nil},
		"a price": {[]string{"0.25", "0.20"}, nil, nil, []string{"o-1", "o-2"}, "0.50 0.40 -0.10", []string{gatetest.Ordering}},
		"a free intent": {
			[]string{`, "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]`, ""},
			nil, nil,
			[]string{"o-1", "o-2"},
			"0.50 0.00 -0.50",
			[]string{gatetest.Ordering},
		},
		"a later start":  {[]string{"2020-01", "2099-01"}, []string{"s-1", "s-2"}, nil, nil, "0.50 0.50 0.00", []string{gatetest.Searching}},
		"a larger limit": {[]string{`"rightOperand": 2`, `"rightOperand": 3`}, nil, nil, nil, "0.50 0.50 0.00", []string{gatetest.Searching}},
		"another target": {
			[]string{`"shop.example:order:v1"`, `"shop.example:search:v1"`},
			[]string{"o-1", "o-2"},
			nil, nil, "0.50 0.00 -0.50",
			[]string{gatetest.Ordering, gatetest.Searching},
		},
	} {
		got := g.impact(strings.NewReplacer(c.edit...).Replace(impactPolicy))
		money := ""
		for _, m := range got.Money {
			money += m.Before + " " + m.After + " " + m.Difference
		}
		slices.Sort(got.Intents)
		slices.Sort(c.intents)
		if !slices.Equal(ids(got.Refused), c.refused) || !slices.Equal(ids(got.Admitted), c.permitted) ||
			!slices.Equal(ids(got.Repriced), c.repriced) || money != c.money || !slices.Equal(got.Intents, c.intents) {
			t.Errorf("%s: got %+v", name, got)
		}
		if got.Calls != 6 || got.Judged != 5 || got.Unjudged != (policies.UnjudgedCalls{Undecided: 1, Limited: 1}) || got.Next != "" ||
			got.Progress != 1 {
			t.Errorf("%s: %d calls, %d judged, %+v, progress %v", name, got.Calls, got.Judged, got.Unjudged, got.Progress)
		}
		if agents := slices.Equal(got.Agents, []pat.AgentID{"agent-1"}); agents != (len(c.intents) > 0) {
			t.Errorf("%s: agents %v", name, got.Agents)
		}
	}
	got := g.impact(strings.ReplaceAll(impactPolicy, "0.25", "0.20")).Repriced.First[0]
	if got.Before != "0.25 EUR" || got.After != "0.20 EUR" || got.AgentID != "agent-1" || got.Intent != gatetest.Ordering || got.At.IsZero() {
		t.Errorf("got %+v", got)
	}
}

func TestImpactNamesItsProcess(t *testing.T) {
	g := impactGate(t)
	if got := g.impact(impactPolicy); got.Process != "test:1" || got.OtherProcesses != nil {
		t.Errorf("without reports: %s, %v", got.Process, got.OtherProcesses)
	}
	g.Must(g.Replica.Report(g.Context()))
	if got := g.impact(impactPolicy); got.OtherProcesses == nil || *got.OtherProcesses != 0 {
		t.Errorf("the only process: %v", got.OtherProcesses)
	}
}

// Parts are added up.
func TestImpactOfParts(t *testing.T) {
	t.Parallel()
	part := policies.PolicyImpact{
		Calls: 3, Judged: 2, Unjudged: policies.UnjudgedCalls{Withheld: 1}, Refused: policies.ImpactSet{Calls: 70, First: make([]policies.ImpactCall, 70)},
		Money: []policies.MoneyImpact{{Currency: "EUR", Before: "0.10", After: "0.05", Difference: "-0.05"}}, Progress: 0.5, Next: "x",
	}
	sum := part
	last := part
	last.Progress, last.Next = 1, ""
	last.Money = append(last.Money, policies.MoneyImpact{Currency: "USD", Before: "0.00", After: "1.00", Difference: "1.00"})
	sum.Add(last)
	if sum.Calls != 6 || sum.Judged != 4 || sum.Unjudged.Withheld != 2 || sum.Refused.Calls != 140 || len(sum.Refused.First) != 100 ||
		sum.Progress != 1 || sum.Next != "" || len(sum.Money) != 2 || sum.Money[0].Difference != "-0.10" || sum.Money[1].After != "1.00" {
		t.Errorf("got %+v", sum)
	}
}

// A call that the policy denied is permitted by an edited one. A fact from a parameter is not in the stream.
func TestImpactOfACallThatWasDenied(t *testing.T) {
	g := impactGate(t)
	late := strings.ReplaceAll(impactPolicy, "2020-01", "2099-01")
	g.Write("policy.json", late)
	g.Reload()
	a := g.Agreed("agent-2")
	g.Refuses(g.Execute(a, gatetest.Searching, "UIM-Request-ID", "denied"), http.StatusForbidden, "POLICY_NOT_APPLICABLE")
	got := g.impact(impactPolicy)
	if got.Admitted.Calls != 1 || got.Admitted.First[0].RequestID != "denied" {
		t.Errorf("got %+v", got.Admitted)
	}
	g.Write("uimgate.yaml", strings.ReplaceAll(g.Settings, gatetest.Unproved, gatetest.Unproved+"\n  facts: {purpose: [{parameter: /query}]}"))
	g.Write("policy.json", strings.Replace(impactPolicy, `{"leftOperand": "dateTime"`,
		`{"leftOperand": "purpose", "operator": "neq", "rightOperand": "fun"}, {"leftOperand": "dateTime"`, 1))
	g.Reload()
	b := g.Agreed("agent-3")
	g.Execute(b, gatetest.Searching)
	if got := g.impact(impactPolicy); got.Unjudged.Withheld != 1 {
		t.Errorf("got %+v", got.Unjudged)
	}
}

// The period restricts the calls, also in files that were rotated, and a damaged line is counted.
func TestImpactReadsRotatedFiles(t *testing.T) {
	g := impactGate(t)
	g.impact(impactPolicy) // writes the stream
	g.Must(os.Rename(g.AuditPath(), g.AuditPath()+".1"))
	g.Audit.Reopen()
	g.Pass(2 * time.Hour)
	a := g.Agreed("agent-2")
	g.Execute(a, gatetest.Searching, "UIM-Request-ID", "later")
	if got := g.impact(impactPolicy); got.Calls != 7 {
		t.Errorf("%d calls, want 7", got.Calls)
	}
	since := ask[policies.PolicyImpact](g, "POST", "/policy/impact", map[string]any{
		"policy": impactPolicy, "from": g.Now().Add(-time.Hour).Format(time.RFC3339Nano), "to": g.Now().Add(time.Hour).Format(time.RFC3339Nano),
	})
	if since.Calls != 1 || since.Progress != 1 {
		t.Errorf("since an hour ago: %+v, want 1 call", since)
	}
	f, err := os.OpenFile(g.AuditPath(), os.O_APPEND|os.O_WRONLY, 0)
	g.Must(err)
	_, err = f.WriteString(`{"at":"` + g.Now().UTC().Format(time.RFC3339Nano) + `","service":"default","decision":7}` + "\nnot JSON\n")
	g.Must(err)
	g.Must(f.Close())
	g.Pass(time.Second)
	if got := g.impact(impactPolicy); got.Calls != 8 || got.Unjudged.Failed != 1 {
		t.Errorf("with damaged lines: %d calls, %+v", got.Calls, got.Unjudged)
	}
	for name, body := range map[string]map[string]any{
		"no policy": {}, "a wrong time": {"policy": impactPolicy, "from": "x"}, "a wrong cursor": {"policy": impactPolicy, "after": "x"},
		"a period that ends first": {"policy": impactPolicy, "from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"},
	} {
		if got := g.do("POST", "/policy/impact", body); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}

func TestSavePolicy(t *testing.T) {
	g := impactGate(t)
	g.settings.Reload = g.reloads()
	g.operator = admin.New(g.settings)
	g.listener.Config.Handler = g.handler(g.operator, adminToken)
	save := func(policy, over string) gatetest.Answer {
		return g.do("POST", "/policy", map[string]any{"policy": policy, "sha256": over})
	}
	before := ask[policies.PolicyText](g, "GET", "/policy", nil)
	if before.Text != impactPolicy || !before.InForce || !before.Writable || before.Policy.Digest == "" ||
		before.Path != g.Path("policy.json") {
		t.Errorf("got %+v", before)
	}
	edited := strings.ReplaceAll(impactPolicy, "0.25", "0.20")
	saved := ask[policies.SaveResult](g, "POST", "/policy", map[string]any{"policy": edited, "sha256": before.SHA256})
	kept, err := os.ReadFile(saved.Kept)
	g.Must(err)
	after := ask[policies.PolicyText](g, "GET", "/policy", nil)
	if string(kept) != impactPolicy || after.Text != edited || !after.InForce || after.Policy.Digest != saved.Policy.Digest ||
		saved.Policy.Digest == before.Policy.Digest {
		t.Errorf("saved %+v, then %+v", saved, after)
	}
	g.Refuses(save(impactPolicy, before.SHA256), http.StatusConflict, "POLICY_NOT_SAVED")
	g.Refuses(save("{", after.SHA256), http.StatusUnprocessableEntity, "CONFIG_REFUSED")
	g.Refuses(g.do("POST", "/policy", map[string]any{"policy": impactPolicy}), http.StatusBadRequest, "MALFORMED_REQUEST")

	g.problems = config.Problems{{File: "uimgate.yaml", Message: "wrong", Level: problem.Error}}
	g.Refuses(save(impactPolicy, after.SHA256), http.StatusUnprocessableEntity, "CONFIG_REFUSED")
	if text, err := os.ReadFile(g.Path("policy.json")); err != nil || string(text) != edited {
		t.Errorf("after a refused reload, the file is %q, %v", text, err)
	}
	if text, err := os.ReadFile(saved.Kept); err != nil || string(text) != impactPolicy {
		t.Errorf("after a refused reload, the kept text is %q, %v", text, err)
	}
	const other = `{"edited": "meanwhile"}`
	g.meanwhile = func() { g.Must(os.WriteFile(g.Path("policy.json"), []byte(other), 0o600)) }
	g.Refuses(save(impactPolicy, after.SHA256), http.StatusConflict, "POLICY_NOT_SAVED")
	if text, err := os.ReadFile(g.Path("policy.json")); err != nil || string(text) != other {
		t.Errorf("an edit during the reload was overwritten with %q, %v", text, err)
	}
	g.meanwhile = nil
	if text, err := os.ReadFile(g.Path("policy.json.saving")); err != nil || string(text) != edited {
		t.Errorf("the previous text is %q, %v", text, err)
	}
	g.Must(os.Remove(g.Path("policy.json.saving")))
	g.Must(os.WriteFile(g.Path("policy.json"), []byte(edited), 0o600))
	g.problems = nil
	if !saved.Policy.Offered || g.deadline {
		t.Errorf("offered %v, and the reload had a deadline: %v", saved.Policy.Offered, g.deadline)
	}
	g.Must(os.Rename(g.Path("policy.json"), g.Path("mounted.json")))
	g.Must(os.Symlink("mounted.json", g.Path("policy.json")))
	if got := ask[policies.PolicyText](g, "GET", "/policy", nil); got.Writable {
		t.Error("a link is writable")
	}
	g.Refuses(save(impactPolicy, after.SHA256), http.StatusConflict, "POLICY_NOT_SAVED")
	entries, err := os.ReadDir(g.Path(""))
	g.Must(err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".policy.json") || e.Name() == "policy.json.saving" {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

// reloads returns a reload that applies the files of the gateway, unless it has problems.
func (g *adminGate) reloads() func(context.Context, bool) config.Problems {
	return func(ctx context.Context, _ bool) config.Problems {
		_, g.deadline = ctx.Deadline()
		if g.meanwhile != nil {
			g.meanwhile()
		}
		if len(g.problems) == 0 {
			g.Reload() //nolint:contextcheck // a test
		}
		return g.problems
	}
}
