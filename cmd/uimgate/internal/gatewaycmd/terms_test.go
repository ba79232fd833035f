package gatewaycmd

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

// Init does not write policies that have dates. It names the permissions that each present one needs.
func TestPlanWithDatedPolicies(t *testing.T) {
	s := newShop(t)
	s.write(filepath.Join(s.gate, "policy.json"), policyOf("one", "0.20"))
	s.write(filepath.Join(s.gate, "next.json"), policyOf("two", "0.30"))
	for _, c := range []struct {
		from    time.Time
		present []string
		ended   string
	}{
		{time.Now().AddDate(0, 1, 0), []string{"policy.json", "next.json"}, "none"},
		{time.Now().AddDate(0, -1, 0), []string{"next.json"}, "policy.json"},
	} {
		from := c.from.UTC().Format(time.RFC3339)
		s.write(filepath.Join(s.gate, "uimgate.yaml"), configOf("policies: [{file: policy.json}, {file: next.json, from: "+from+"}]"))
		out, err := s.init(nil)
		if err != nil || strings.Contains(out, "--merge") || strings.Contains(out, "policy.json.new") {
			t.Errorf("from %s: %s, %v, want a plan without --merge and policy.json.new", from, out, err)
		}
		for _, name := range c.present {
			if want := "? " + name + " permits no call of: shop.example:get-stock:v1: add permissions to this file"; !strings.Contains(out, want) {
				t.Errorf("from %s: %s, want %q", from, out, want)
			}
		}
		if strings.Contains(out, "? "+c.ended+" permits") {
			t.Errorf("from %s: %s, want no line for %s, which has ended", from, out, c.ended)
		}
		if _, err := s.init(nil, "--merge"); err == nil || !strings.Contains(err.Error(), strings.Join(c.present, " and ")) {
			t.Errorf("from %s: --merge: %v, want an error that names %v", from, err, c.present)
		}
	}
}

// The plan has a line for each change of a price, and differences of prices also if no file changes.
func TestPlanShowsPrices(t *testing.T) {
	s := newShop(t)
	s.write(s.document, planned)
	s.write(filepath.Join(s.gate, "uimgate.yaml"), configOf("policy_file: policy.json"))
	s.write(filepath.Join(s.gate, "policy.json"), policyOf("one", "0.20"))
	s.write(filepath.Join(s.gate, "openapi.curation.yaml"),
		"operations:\n  findProducts: {hidden: false, uid: shop.example:find-products:v1, price: 0.05 EUR}\n")
	if out, err := s.init(nil, "--apply"); err != nil || !strings.Contains(out, "A running gateway takes the files over") {
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
