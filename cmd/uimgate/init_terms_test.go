package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// policyOf is a policy that permits two intents at a price.
func policyOf(uid, price string) string {
	return `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/` + uid + `",
 "profile": "http://example.com/profile/odrl-uim",
 "permission": [{"target": "shop.example:find-products:v1", "action": "execute", "duty": [{"action": "pay", "amount": "` + price + `", "unit": "EUR"}]}]}`
}

func configOf(policies string) string {
	return "services:\n- agents_file: agents.json\n  " + policies + "\n  upstream: {url: \"https://api.shop.example\"}\nbilling: {credit: 1 EUR}\n"
}

// Without --merge, init does not write policies if one of them follows another. It names the permissions that each of them needs.
func TestPlanWithDatedPolicies(t *testing.T) {
	s := newInitShop(t)
	s.write(filepath.Join(s.gate, "policy.json"), policyOf("one", "0.20"))
	s.write(filepath.Join(s.gate, "next.json"), policyOf("two", "0.30"))
	s.write(filepath.Join(s.gate, "last.json"), policyOf("three", "0.40"))
	for _, c := range []struct {
		from          time.Time
		present       []string
		inForce, gone string
	}{
		{time.Now().AddDate(0, 1, 0), []string{"policy.json", "next.json", "last.json"}, "policy.json charges 0.20 EUR", "none"},
		{time.Now().AddDate(0, -1, 0), []string{"next.json", "last.json"}, "next.json charges 0.30 EUR", "policy.json"},
	} {
		from, end := c.from.UTC().Format(time.RFC3339), time.Now().AddDate(1, 0, 0).UTC().Format(time.RFC3339)
		s.write(filepath.Join(s.gate, "uimgate.yaml"),
			configOf("policies: [{file: policy.json}, {file: next.json, from: "+from+"}, {file: last.json, from: "+end+"}]"))
		out, err := s.init(nil)
		if err != nil || strings.Contains(out, ".json.new") || !strings.Contains(out, c.inForce+", openapi.curation.yaml has no price") {
			t.Errorf("from %s: %s, %v, want a plan with %q that writes no policy", from, out, err, c.inForce)
		}
		for _, name := range c.present {
			if want := "? " + name + " permits no call to: shop.example:get-stock:v1: use --merge to add permissions"; !strings.Contains(out, want) {
				t.Errorf("from %s: %s, want %q", from, out, want)
			}
		}
		if strings.Contains(out, c.gone+" permits") {
			t.Errorf("from %s: %s, want no line for %s, which has ended", from, out, c.gone)
		}
	}
	s.write(filepath.Join(s.gate, "last.json"), "{}")
	for _, flag := range []string{"--merge=false", "--merge"} {
		out, err := s.init(nil, flag)
		if err != nil || !strings.Contains(out, "? last.json cannot be checked: ") || !strings.Contains(out, "? next.json permits no call to: ") {
			t.Errorf("%s: %s, %v, want lines for next.json and for last.json, which is not valid", flag, out, err)
		}
		if strings.Contains(out, ", next.json,") || strings.Contains(out, ", last.json") {
			t.Errorf("%s: %s, want that neither policy is written", flag, out)
		}
	}
}

// The plan has a line for each change of a price. It also lists differences between prices if no file changes.
func TestPlanShowsPrices(t *testing.T) {
	s := newInitShop(t)
	s.write(s.document, initPlanned)
	s.write(filepath.Join(s.gate, "uimgate.yaml"), configOf("policy_file: policy.json"))
	s.write(filepath.Join(s.gate, "policy.json"), policyOf("one", "0.20"))
	s.write(filepath.Join(s.gate, "openapi.curation.yaml"),
		"operations:\n  findProducts: {hidden: false, uid: shop.example:find-products:v1, price: 0.05 EUR}\n")
	if out, err := s.init(nil, "--apply"); err != nil || !strings.Contains(out, "A running gateway applies the files within") {
		t.Fatalf("%s: %v", out, err)
	}
	out, err := s.init(nil)
	want := "find-products:v1: policy.json charges 0.20 EUR, openapi.curation.yaml has 0.05 EUR: use --merge to make them equal"
	if err != nil || !strings.Contains(out, "nothing changes") || !strings.Contains(out, "? shop.example:"+want) {
		t.Errorf("%s, %v, want %q although nothing changes", out, err, want)
	}
	out, err = s.init(nil, "--merge")
	if want := "! shop.example:find-products:v1: price 0.20 EUR → 0.05 EUR"; err != nil || !strings.Contains(out, want) ||
		!strings.Contains(out, "; agents must agree again") {
		t.Errorf("%s, %v, want %q", out, err, want)
	}
	out, err = s.init(nil, "--merge", "--apply")
	if want := "policies.md#change-it-on-a-date"; err != nil || !strings.Contains(out, want) {
		t.Errorf("%s, %v, want %q", out, err, want)
	}
}
