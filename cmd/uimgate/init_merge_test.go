package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func (s *shop) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.gate, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// prepare writes files of the gate. The arguments are pairs of a name and a text.
func (s *shop) prepare(files ...string) {
	s.t.Helper()
	for n := 0; n < len(files); n += 2 {
		s.write(filepath.Join(s.gate, files[n]), files[n+1])
	}
}

// permitting returns a policy with these rules.
func permitting(rules string) string {
	return `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
 "profile": "http://example.com/profile/odrl-uim", ` + rules + `}`
}

// rule returns a permission for intents of shop.example, given without their namespace.
func rule(price string, intents ...string) string {
	return `{"target": ["shop.example:` + strings.Join(intents, `", "shop.example:`) + `"], "action": "execute",
 "duty": [{"action": "pay", "amount": "` + price + `", "unit": "http://example.com/vocab/EUR"}],
 "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 50, "unit": "hour"}]}`
}

func list(rules ...string) string { return `"permission": [` + strings.Join(rules, ",\n") + `]` }

const products, inStock = "find-products:v1", "get-stock:v1"

// limited is planned with a new required parameter of findProducts, which breaks agents.
var limited = strings.Replace(initPlanned, "findProducts,",
	"findProducts, parameters: [{name: q, in: query, required: true, schema: {type: string}}],", 1)

var (
	tomorrow = time.Now().AddDate(0, 0, 1).UTC().Format(time.RFC3339)
	nextWeek = time.Now().AddDate(0, 0, 7).UTC().Format(time.RFC3339)
	three    = "policies: [{file: policy.json}, {file: next.json, from: " + tomorrow + "}, {file: sub/last.json, from: " + nextWeek + "}]"
)

// With --merge, init adds permissions to each policy that has not ended, and changes prices only in the one in force.
func TestMergeOfDatedPolicies(t *testing.T) {
	const offered = "operations:\n  findProducts: {hidden: false, uid: shop.example:find-products:v1, price: 0.05 EUR}\n"
	for name, tt := range map[string]struct {
		before, document   string
		policy, next, last string
		curation           string
		plan               []string // parts of the plan, in their order
		unwanted           string
		want               [3]string // parts of the policies afterwards
		same               bool      // the announced policies stay as they are
		wrong              bool      // the plan cannot be applied
	}{
		"a new intent": {
			before: initPlanned, document: initPlanned + stock,
			policy: list(rule("0.20", products)), next: list(rule("0.30", products)), last: list(rule("0.40", products)),
			plan: []string{
				"openapi.curation.yaml: shop.example:find-products:v1: price none → 0.20 EUR, limit 1000/hour → 50/hour, as in policy.json",
				"policy.json, in force:", "+ permits shop.example:get-stock:v1: free, 1000/hour",
				"next.json, from " + tomorrow + ":", "+ permits shop.example:get-stock:v1: free, 1000/hour",
				"= shop.example:find-products:v1: next.json charges 0.30 EUR, openapi.curation.yaml has 0.20 EUR; not changed",
				"sub/last.json, from " + nextWeek + ":", "+ permits shop.example:get-stock:v1: free, 1000/hour",
				"files: .uimgate-init.json, README.md, agents.json, next.json, openapi.curation.yaml, policy.json, sub/last.json",
			},
			want: [3]string{
				`"target":["shop.example:get-stock:v1"]`, `"target":["shop.example:get-stock:v1"]`, `"target":["shop.example:get-stock:v1"]`,
			},
			unwanted: "? ",
		},
		"the next version": {
			before: initPlanned, document: limited,
			policy: list(rule("0.20", products)), next: list(rule("0.30", products)), last: list(rule("0.40", products)),
			plan: []string{
				"policy.json, in force:", "+ permits shop.example:find-products:v2: 0.20 EUR, 50/hour, like shop.example:find-products:v1",
				"next.json, from", "+ permits shop.example:find-products:v2: 0.30 EUR, 50/hour, like shop.example:find-products:v1",
				"= shop.example:find-products:v1 and v2: next.json charges 0.30 EUR, openapi.curation.yaml has 0.20 EUR; not changed",
				"sub/last.json, from", "+ permits shop.example:find-products:v2: 0.40 EUR, 50/hour, like shop.example:find-products:v1",
			},
			want: [3]string{
				`"target":["shop.example:find-products:v1","shop.example:find-products:v2"]`,
				`"target":["shop.example:find-products:v1","shop.example:find-products:v2"]`,
				`"target":["shop.example:find-products:v1","shop.example:find-products:v2"]`,
			},
			unwanted: "? ",
		},
		"a price in the curation": {
			before: initPlanned, document: initPlanned, curation: offered,
			policy: list(rule("0.20", products)), next: list(rule("0.30", products)), last: list(rule("0.40", products)),
			plan: []string{
				"openapi.curation.yaml: shop.example:find-products:v1: limit 60/hour → 50/hour, as in policy.json",
				"policy.json, in force:", "! shop.example:find-products:v1: price 0.20 EUR → 0.05 EUR; agents must agree again",
				"next.json, from", "= shop.example:find-products:v1: next.json charges 0.30 EUR, openapi.curation.yaml has 0.05 EUR; not changed",
			},
			want: [3]string{`"amount":"0.05"`, `"amount": "0.30"`, `"amount": "0.40"`},
			same: true, unwanted: "+ permits",
		},
		"an intent that ends with the next policy": {
			before: initPlanned + stock, document: initPlanned + stock,
			policy: list(rule("0.20", products)), next: list(rule("0.30", inStock)), last: list(rule("0.40", inStock)),
			plan: []string{
				"? policy.json permits no call to: shop.example:get-stock:v1: another policy does, so --merge adds no permission: add one if",
				"? next.json permits no call to: shop.example:find-products:v1: another policy does",
				"? sub/last.json permits no call to: shop.example:find-products:v1: another policy does",
			},
			want: [3]string{`products:v1"], "action"`, `stock:v1"], "action"`, `stock:v1"], "action"`}, same: true, unwanted: "+ permits",
		},
		"the next version of an intent that ends": {
			before: initPlanned + stock, document: limited + stock,
			policy: list(rule("0.20", products)), next: list(rule("0.30", inStock)), last: list(rule("0.40", inStock)),
			plan: []string{
				"policy.json, in force:", "+ permits shop.example:find-products:v2: 0.20 EUR, 50/hour",
				"? next.json permits no call to: shop.example:find-products:v1, shop.example:find-products:v2: another policy does",
			},
			want: [3]string{`"shop.example:find-products:v2"]`, `stock:v1"], "action"`, `stock:v1"], "action"`}, same: true,
		},
		"the curation would make two policies equal": {
			before: initPlanned, document: initPlanned, curation: strings.Replace(offered, "0.05", "0.30", 1),
			policy: list(rule("0.20", products)), next: list(rule("0.30", products)), last: list(rule("0.40", products)),
			plan:  []string{"! shop.example:find-products:v1: price 0.20 EUR → 0.30 EUR", "? the terms cannot be compared: ", "same as the one before it"},
			wrong: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newInitShop(t)
			s.write(s.document, tt.before)
			if _, err := s.init(nil, "--apply"); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(s.gate, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			names := []string{"policy.json", "next.json", "sub/last.json"}
			s.prepare("uimgate.yaml", configOf(three))
			for n, rules := range []string{tt.policy, tt.next, tt.last} {
				s.prepare(names[n], permitting(rules))
			}
			if tt.curation != "" {
				s.prepare("openapi.curation.yaml", tt.curation)
			}
			s.write(s.document, tt.document)
			out, err := s.init(nil, "--merge")
			id := regexp.MustCompile(`--apply=([a-z2-7]{16});`).FindStringSubmatch(out)
			if err != nil || id == nil {
				t.Fatalf("%s: %v", out, err)
			}
			rest := out
			for _, line := range tt.plan {
				at := strings.Index(rest, line)
				if at < 0 {
					t.Fatalf("the plan lacks %q, or has it elsewhere:\n%s", line, out)
				}
				rest = rest[at+len(line):]
			}
			if tt.unwanted != "" && strings.Contains(out, tt.unwanted) {
				t.Errorf("the plan has %q:\n%s", tt.unwanted, out)
			}
			if tt.wrong {
				return
			}
			if out, err := s.init(nil, "--merge", "--apply="+id[1]); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
			for n, name := range names {
				if got := s.read(name); !strings.Contains(got, tt.want[n]) {
					t.Errorf("%s lacks %q:\n%s", name, tt.want[n], got)
				}
			}
			for n, name := range names[1:] {
				if before := permitting([]string{tt.next, tt.last}[n]); tt.same && s.read(name) != before {
					t.Errorf("%s has changed:\n%s", name, s.read(name))
				}
			}
			if out, err := s.init(nil, "--merge"); err != nil || !strings.Contains(out, "nothing changes") {
				t.Errorf("again: %s, %v, want no changes", out, err)
			}
		})
	}
}

// Init writes the policy that the configuration names, wherever it is, and no policy.json.
func TestPolicyThatTheConfigurationNames(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "terms.json")
	for _, named := range []string{"terms.json", "sub/terms.json", "../terms.json", outside} {
		s := newInitShop(t)
		written := s.read("policy.json")
		path := filepath.Join(s.gate, named)
		if filepath.IsAbs(named) {
			path = named
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Rename(filepath.Join(s.gate, "policy.json"), path)); err != nil {
			t.Fatal(err)
		}
		s.prepare("uimgate.yaml", configOf("policy_file: "+named))
		name, err := filepath.Rel(s.gate, path)
		if err != nil {
			t.Fatal(err)
		}
		s.write(path, strings.Replace(written, `"permission"`, `"note": 1, "permission"`, 1))
		for _, edited := range []struct{ flag, want string }{{"--merge", name}, {"--merge=false", name + ".new"}} {
			out, err := s.init(nil, edited.flag)
			_, files, _ := strings.Cut(out, "files: ")
			if files, _, _ = strings.Cut(files, "\n"); err != nil || !slices.Contains(strings.Split(files, ", "), edited.want) {
				t.Errorf("%s: edited: %s: %s, %v, want a plan that writes %s", named, edited.flag, out, err, edited.want)
			}
		}
		s.write(path, written)
		out, err := s.init(nil, "--apply="+s.plan())
		if err != nil || !strings.Contains(s.read(name), "get-stock:v1") || !strings.Contains(out, "+ permits shop.example:get-stock:v1") {
			t.Errorf("%s: %s, %v, want a policy that permits get-stock", named, out, err)
		}
		if _, err := os.Stat(filepath.Join(s.gate, "policy.json")); err == nil {
			t.Errorf("%s: there is a policy.json", named)
		}
	}
}

// A configuration that lacks a variable still names its policies.
func TestPolicyOfAConfigurationWithErrors(t *testing.T) {
	s := newInitShop(t)
	s.prepare("terms.json", permitting(list(rule("0.20", products))),
		"uimgate.yaml", strings.Replace(configOf("policy_file: terms.json"), "https://api.shop.example", "${UIMGATE_TEST_NONE}", 1))
	out, err := s.init(nil, "--merge")
	if err != nil || !strings.Contains(out, "terms.json: not merged, because the configuration has errors") ||
		!strings.Contains(out, "terms.json.new") || strings.Contains(out, " policy.json") {
		t.Errorf("%s, %v, want a plan for terms.json", out, err)
	}
	s.prepare("uimgate.yaml", "services: [\n")
	out, err = s.init(nil, "--merge")
	if err != nil || !strings.Contains(out, "the terms cannot be compared") || strings.Contains(out, " policy.json") {
		t.Errorf("%s, %v, want a plan that writes no policy", out, err)
	}
}

// --merge adds no permission for an intent that the policy permits only to some agents, or prohibits.
func TestMergeKeepsRestrictions(t *testing.T) {
	for name, rules := range map[string]string{
		"a partner": list(rule("0.20", products),
			`{"target": "https://shop.example/api/intents", "action": "execute", "assignee": "https://partner.example/id"}`),
		"nobody": list(rule("0.20", products)) + `, "prohibition": [{"target": "shop.example:get-stock:v1", "action": "execute"}]`,
	} {
		s := newInitShop(t)
		if _, err := s.init(nil, "--apply"); err != nil {
			t.Fatal(err)
		}
		s.prepare("policy.json", permitting(rules), "uimgate.yaml",
			configOf("policy_file: policy.json\n  parties: {https://partner.example/id: {agent_id: partner, key: NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs}}"))
		out, err := s.init(nil, "--merge", "--apply")
		if err != nil || s.read("policy.json") != permitting(rules) || strings.Contains(out, "? policy.json") {
			t.Errorf("%s: %s, %v: %s, want the policy as it was", name, out, err, s.read("policy.json"))
		}
	}
}

// Versions of an intent in one rule change together, in one line of the plan.
func TestVersionsChangeTogether(t *testing.T) {
	s := newInitShop(t)
	s.write(s.document, limited)
	if _, err := s.init(nil, "--apply"); err != nil {
		t.Fatal(err)
	}
	both := list(rule("0.20", products, "find-products:v2"))
	s.prepare("uimgate.yaml", configOf("policy_file: policy.json"), "policy.json", permitting(both),
		"openapi.curation.yaml", "operations:\n  findProducts: {hidden: false, uid: shop.example:find-products:v2, price: 0.05 EUR}\n")
	out, err := s.init(nil, "--merge", "--apply")
	line := "shop.example:find-products:v1 and v2: price 0.20 EUR → 0.05 EUR"
	if err != nil || strings.Count(out, "0.20 EUR") != 2 || !strings.Contains(out, "policy.json: "+line) || !strings.Contains(out, "! "+line) {
		t.Errorf("%s, %v, want one line for both versions", out, err)
	}
	if got := s.read("policy.json"); strings.Count(got, `"target":[`) != 1 {
		t.Errorf("the rule was split: %s", got)
	}
}
