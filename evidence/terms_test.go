package evidence_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/evidence"
)

func TestSameTerms(t *testing.T) {
	t.Parallel()
	const order = "shop.example:order:v1"
	const policy = `{"@context": "http://www.w3.org/ns/odrl.jsonld", "uid": "https://shop.example/policy/1", "type": "Set", "permission": [
		{"uid": "a", "target": "shop.example:search:v1", "action": "execute"},
		{"uid": "b", "target": ["shop.example:order:v1", "shop.example:return:v1"], "action": "execute",
			"duty": {"action": "pay", "amount": "0.05", "unit": "EUR"}},
		{"target": {"@type": "AssetCollection", "source": "https://shop.example/all"}, "action": "read"}]}`
	for name, tt := range map[string]struct {
		from, to string
		want     bool
	}{
		"spaces":                      {`"execute",`, `"execute"  ,`, true},
		"a title":                     {`"type"`, `"title": "Terms", "type"`, true},
		"the uid of a rule":           {`"uid": "b"`, `"uid": "c"`, true},
		"terms of another intent":     {`"shop.example:search:v1", "action": "execute"`, `"shop.example:search:v1", "action": "use"`, true},
		"an intent more":              {`["shop.example:order:v1",`, `["shop.example:order:v1", "shop.example:list:v1",`, true},
		"an intent less":              {`, "shop.example:return:v1"]`, `]`, true},
		"one target as a text":        {`["shop.example:order:v1", "shop.example:return:v1"]`, `"shop.example:order:v1"`, true},
		"one target as an object":     {`["shop.example:order:v1", "shop.example:return:v1"]`, `{"@id": "shop.example:order:v1"}`, true},
		"the price":                   {`"0.05"`, `"0.06"`, false},
		"the uid":                     {"policy/1", "policy/2", false},
		"another permission":          {`{"uid": "a", "target": "shop.example:search:v1"`, `{"uid": "a", "target": "shop.example:order:v1"`, false},
		"no permission":               {`["shop.example:order:v1", "shop.example:return:v1"]`, `"shop.example:return:v1"`, false},
		"a prohibition":               {`"permission"`, `"prohibition": {"target": "shop.example:order:v1", "action": "execute"}, "permission"`, false},
		"an obligation of everything": {`"permission"`, `"obligation": {"action": "pay", "amount": "1.00", "unit": "EUR"}, "permission"`, false},
		"terms of a collection":       {`"action": "read"`, `"action": "use"`, false},
		"the context":                 {"odrl.jsonld", "other.jsonld", false},
		"not JSON":                    {`"permission"`, `permission`, false},
		"an inexact number":           {`"0.05"`, `0.10000000000000000001`, false},
	} {
		other := strings.Replace(policy, tt.from, tt.to, 1)
		if other == policy {
			t.Fatalf("%s: nothing is replaced", name)
		}
		for _, pair := range [][2]string{{policy, other}, {other, policy}} {
			if got := evidence.SameTerms([]byte(pair[0]), []byte(pair[1]), order); got != tt.want {
				t.Errorf("%s: got %t, want %t", name, got, tt.want)
			}
		}
	}
	if !evidence.SameTerms([]byte(policy), []byte(policy), order) {
		t.Error("a policy has other terms than itself")
	}
}
