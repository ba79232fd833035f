package gateway_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/odrl"
)

const datedAgents = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [
    {"intent_uid": "shop.example:search:v1", "intent_name": "Search", "description": "Search.",
     "endpoint": {"url": "https://shop.example/search", "method": "GET"}},
    {"intent_uid": "shop.example:order:v1", "intent_name": "Order", "description": "Order.",
     "endpoint": {"url": "https://shop.example/orders", "method": "POST", "content_type": "application/json"}}
  ]
}`

const datedPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:search:v1", "action": "execute"},
    {"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}
  ]
}`

// loadPolicies loads a service with these policies on 28 November 2026, and returns the problems.
func loadPolicies(t *testing.T, policies string) (loaded *service.LoadedConfig, problems []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"agents.json": datedAgents, "a.json": datedPolicy,
		"b.json":   strings.Replace(datedPolicy, `"0.25"`, `"0.50"`, 1),
		"c.json":   strings.Replace(datedPolicy, `"0.25"`, `"0.75"`, 1),
		"uid.json": strings.Replace(datedPolicy, "policy/1", "policy/2", 1),
		"usd.json": strings.Replace(datedPolicy, "EUR", "USD", 1),
		"bad.json": strings.Replace(datedPolicy, "shop.example:order:v1", "shop.example:ordr:v1", 1),
		"uimgate.yaml": "billing: {credit: 10 EUR}\nservices:\n- agents_file: agents.json\n" +
			"  upstream: {url: http://127.0.0.1:9000}\n" + policies,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, found := config.Load(filepath.Join(dir, "uimgate.yaml"), config.Overrides{Env: func(string) (string, bool) { return "", false }})
	if cfg != nil {
		now := func() time.Time { return time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC) }
		loaded, found = service.Load(t.Context(), cfg, now)
	}
	for _, p := range found {
		problems = append(problems, strings.TrimPrefix(strings.ReplaceAll(p.String(), dir+"/", ""), "uimgate.yaml:"))
	}
	return loaded, problems
}

func TestDatedPolicies(t *testing.T) {
	for name, test := range map[string]struct {
		policies string
		want     string // prices of the policies that are offered, or problems
	}{
		"one":                        {"  policies: [{file: a.json}]", "0.25"},
		"a successor":                {"  policies: [{file: a.json}, {file: b.json, from: 2026-12-01T00:00Z}]", "0.25 0.50"},
		"the time has an offset":     {"  policies: [{file: a.json}, {file: b.json, from: 2026-11-28T12:59:30+01:00}]", "0.50 policies[0]: this policy ended at 2026-11-28T11:59:30Z: remove it"},
		"back to the one before":     {"  policies: [{file: a.json}, {file: b.json, from: 2026-12-01T00:00Z}, {file: a.json, from: 2026-12-02T00:00Z}]", "0.25 0.50 0.25"},
		"the file before ended":      {"  policies: [{file: a.json}, {file: b.json, from: 2026-11-01T00:00Z}, {file: c.json, from: 2027-01-01T00:00Z}]", "0.50 0.75 policies[0]: this policy ended at 2026-11-01T00:00:00Z: remove it"},
		"another uid":                {"  policies: [{file: a.json}, {file: uid.json, from: 2026-12-01T00:00Z}]", "0.25 0.25 policies[1].file: its uid differs from that of the policy before it, so agents must agree again for every intent when it takes effect: keep the uid https://shop.example/policy/1, and only the intents whose terms change need a new agreement"},
		"none in force":              {"  policies: [{file: a.json, from: 2026-12-01T00:00Z}]", "policies[0].from: no policy is in force before this time: omit from, or put the present policy before this one"},
		"none":                       {"  policies: []", "policies: is empty: list at least one policy, or set policy_file"},
		"two keys":                   {"  policies: [{file: a.json}]\n  policy_file: a.json", "policy_file: policies is also set: make this file the first entry of policies, and omit policy_file"},
		"without a date":             {"  policies: [{file: a.json}, {file: b.json}]", "policies[1].from: is required: the time at which the policy takes effect, such as 2026-12-01T00:00Z"},
		"at one time":                {"  policies: [{file: a.json}, {file: b.json, from: 2026-12-01T00:00Z}, {file: c.json, from: 2026-12-01T01:00+01:00}]", "policies[2].from: the policy before it takes effect at the same time: remove one of the two"},
		"in the wrong order":         {"  policies: [{file: a.json}, {file: b.json, from: 2026-12-02T00:00Z}, {file: c.json, from: 2026-12-01T00:00Z}]", "policies[2].from: is before the date of the policy before it: list the policies in the order in which they take effect"},
		"twice the same":             {"  policies: [{file: a.json}, {file: a.json, from: 2026-12-01T00:00Z}]", "policies[1].file: this policy is the same as the one before it: remove one of the two"},
		"a date without a time zone": {"  policies: [{file: a.json}, {file: b.json, from: 2026-12-01T00:00}]", `policies[1].from: "2026-12-01T00:00" is not valid: want a time with its offset such as 2026-12-01T00:00Z`},
		"the file is gone":           {"  policies: [{file: gone.json}, {file: b.json, from: 2026-12-01T00:00Z}]", "policies[0].file: cannot read gone.json: no such file or directory"},
		"the file of an ended policy is gone": {
			"  policies: [{file: gone.json}, {file: b.json, from: 2026-11-01T00:00Z}]",
			"0.50 policies[0]: this policy ended at 2026-11-01T00:00:00Z: remove it",
		},
		"the file of the present policy is gone": {
			"  policies: [{file: gone.json}, {file: gone2.json, from: 2026-11-01T00:00Z}, {file: b.json, from: 2026-12-01T00:00Z}]",
			"policies[0]: this policy ended at 2026-11-01T00:00:00Z: remove it " +
				"policies[1].file: cannot read gone2.json: no such file or directory",
		},
		"an unknown intent": {"  policies: [{file: a.json}, {file: bad.json, from: 2026-12-01T00:00Z}]", `bad.json:6: /permission/1/target: the target "shop.example:ordr:v1" names no intent of this service: did you mean shop.example:order:v1?`},
		"another currency":  {"  policies: [{file: a.json}, {file: usd.json, from: 2026-12-01T00:00Z}]", "policies[1].file: the policy charges in USD, but billing.credit is in EUR: use the same currency in both"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, problems := loadPolicies(t, test.policies)
			var got []string
			if loaded != nil {
				current := loaded.Definitions()[0]
				for _, d := range append([]*service.Definition{current}, current.Successors()...) {
					terms, err := d.Policy.Terms(t.Context(), odrl.Request{Intent: "shop.example:order:v1"})
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, terms.Candidates[0].Charge.Decimal())
				}
			}
			for _, p := range problems {
				if _, after, ok := strings.Cut(p, "services[0]."); ok {
					p = after
				}
				got = append(got, p)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}
